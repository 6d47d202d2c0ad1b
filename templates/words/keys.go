package words

// What came of a bid, and what is asked, at its form.
const (
	BidAccepted      Key = "bid_accepted"
	BidLeads         Key = "bid_leads"
	BidWon           Key = "bid_won"
	BidOutbid        Key = "bid_outbid"
	BidReplayed      Key = "bid_replayed"
	BidAcceptedBlind Key = "bid_accepted_blind"
	BidAcceptedTitle Key = "bid_accepted_title"
	AlreadyLeading   Key = "already_leading"
	AskOwnLead       Key = "ask_own_lead"
	AskFarAbove      Key = "ask_far_above"
	AskOwnLeadFar    Key = "ask_own_lead_far_above"
	ChoiceBid        Key = "choice_bid"
	ChoiceConfirm    Key = "choice_confirm"
	LinkReload       Key = "link_reload"
	LinkReloadBlind  Key = "link_reload_blind"
	LinkSignIn       Key = "link_sign_in"
)

// What is said and asked at other forms.
const (
	ChoiceFirstTime   Key = "choice_first_time"
	ChoiceSecondTime  Key = "choice_second_time"
	OldPasswordWrong  Key = "old_password_wrong"
	DraftSignedOut    Key = "draft_signed_out"
	DraftOtherViewer  Key = "draft_other_viewer"
	DraftNotForSeller Key = "draft_not_for_seller"
)

// What has happened, on the page that follows.
const (
	DoneWithdrawn      Key = "done_withdrawn"
	DonePublished      Key = "done_published"
	DoneNotKept        Key = "done_not_kept"
	DoneSignedUp       Key = "done_signed_up"
	DoneMaySell        Key = "done_may_sell"
	DoneSellerName     Key = "done_seller_name"
	DonePassword       Key = "done_password"
	DoneSignedOut      Key = "done_signed_out"
	DoneSignedOutOfAll Key = "done_signed_out_everywhere"
	DoneTokenRevoked   Key = "done_token_revoked"
)

// Titles of pages and of parts of them.
const (
	TitleNewAuction Key = "title_new_auction"
	TitleReview     Key = "title_review"
	TitleAccount    Key = "title_account"
	TitleSignUp     Key = "title_sign_up"
	TitleSignIn     Key = "title_sign_in"
	TitleMyBids     Key = "title_my_bids"
	TitleMyAuctions Key = "title_my_auctions"
	TitleHelp       Key = "title_help"
	TitleBids       Key = "title_bids"
	CaptionBids     Key = "caption_bids"
)

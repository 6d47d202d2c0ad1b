package words

import "net/http"

// english is the language of the API, and of pages.
var english = table{
	or: " or ",
	reasons: map[string]string{
		// Any field.
		"missing":      "Fill this in.",
		"not_given":    "Fill this in.",
		"unknown":      "Choose one of the values there are.",
		"taken":        "Somebody has this already. Choose another.",
		"unreadable":   "This is not what the house gave out.",
		"not_text":     "Write this as plain text in UTF-8.",
		"line_breaks":  "Remove the line breaks.",
		"hidden":       "Remove the hidden character {character} after “{after}”.",
		"hidden_first": "Remove the hidden character {character} at the beginning.",
		"too_long":     "Shorten this to at most {max} characters.",
		"too_short":    "Write at least {min} characters.",
		"too_many":     "There are {count} already, which is as many as there may be.",
		"out_of_range": "This is a whole number from {min} to {max}.",
		"not_a_list":   "Name 1 to {max}, with commas between them.",

		// JSON values.
		"not_a_string":   "This is a string.",
		"not_an_integer": "This is a whole number.",
		"not_an_object":  "This is an object, and each of its names occurs once.",
		"not_a_moment":   "This is a time with its offset, such as 2030-01-31T18:00:00Z.",
		"not_a_currency": "Give the currency as an ISO 4217 code such as USD.",

		// Amounts: those of programs, and those that people type.
		"no_amount":           "Give an amount.",
		"not_an_amount":       "Enter an amount in plain digits with a point before the decimals, for example 1250.00.",
		"amount_too_large":    "Enter an amount with at most {digits} digits before the point.",
		"sum_too_large":       "Enter smaller amounts: together they have at most {digits} digits before the decimals.",
		"too_precise":         "Enter an amount with at most {currency:digits} decimals: {currency} has no more.",
		"too_precise_for_any": "Enter an amount with no more decimals than its currency has.",
		"has_decimals":        "Enter an amount without decimals: {currency} has none.",
		"typed_ambiguous":     "Did you mean {readings}? Choose the amount.",
		"typed_too_large":     "Enter a smaller amount: at most {digits} digits before the decimals.",
		"typed_too_precise":   "Enter at most {currency:digits} decimals: {currency} has no more.",
		"typed_has_decimals":  "Enter an amount without decimals: {currency} has none.",
		"typed_unreadable":    "Enter an amount in {currency}, for example {currency:example}.",
		"negative":            "Enter an amount of 0 or more.",
		"not_positive":        "Enter an amount greater than 0.",

		// Times.
		"past":             "Choose a time in the future.",
		"before_start":     "Choose a time later than the start.",
		"too_far":          "Choose a time within the next {years} years.",
		"not_a_local_time": "Enter a date and time.",
		"skipped":          "Choose another time: clocks in {zone} are put forward then and never show this time.",
		"shown_twice":      "Clocks in {zone} show this time twice on that day. Choose which one you mean.",

		// Auctions.
		"not_offered_yet":      "This house does not offer this term of a sale yet. Leave it out.",
		"title.missing":        "Enter a title.",
		"title.too_long":       "Shorten the title to {max} characters.",
		"description.too_long": "Shorten the description to {max} characters.",
		"startPrice.negative":  "Enter a start price of 0 or more.",
		"startPrice.sum_too_large": "Enter a smaller start price or step: " +
			"together they have at most {digits} digits before the decimals.",
		"minIncrement.not_positive":  "Enter a step greater than 0.",
		"endTime.missing":            "Give an end time.",
		"endTime.past":               "Choose an end time in the future.",
		"endTime.before_start":       "Choose an end time later than the start.",
		"endTime.too_far":            "Choose an end time within the next {years} years.",
		"softClose.out_of_range":     "Give the soft close in whole seconds, from {min} to {max}.",
		"windowMinutes.out_of_range": "Enter whole minutes from {min} to {max}.",
		"extendMinutes.out_of_range": "Enter whole minutes from {min} to {max}.",
		"currency.unknown":           "Choose a currency from the list.",
		"zone.unknown":               "Choose a time zone from the list.",
		"lane.unknown":               "Choose the lane standard or hot.",
		"lane.too_many": "You have {count} auctions in the hot lane, which is as many as one seller may have. " +
			"Choose the standard lane: it takes any rate of bids.",
		"not_offered": "This house does not offer the hot lane. The standard lane takes any rate of bids.",
		"weak_redis_appendonly": "This house does not offer the hot lane: its Redis keeps no append-only file " +
			"(appendonly is {value}, not yes). The standard lane takes any rate of bids.",
		"weak_redis_appendfsync": "This house does not offer the hot lane: its Redis answers before what it answers " +
			"is on disk (appendfsync is {value}, not always). The standard lane takes any rate of bids.",
		"weak_redis_maxmemory-policy": "This house does not offer the hot lane: its Redis drops keys when memory is " +
			"short (maxmemory-policy is {value}). The standard lane takes any rate of bids.",
		"weak_redis_CONFIG": "This house does not offer the hot lane: its Redis does not tell its settings " +
			"({value}). The standard lane takes any rate of bids.",
		"bidderId.unknown": "There is no such bidder.",

		// Lists and streams.
		"status.unknown":      "The status is SCHEDULED, OPEN, CLOSED, CANCELLED or ALL.",
		"sort.unknown":        "The sort is ending, newest or price.",
		"cursor.unreadable":   "A cursor is the nextCursor of an earlier page of the same list.",
		"view.unknown":        "There is no such view.",
		"auctions.not_a_list": "Name 1 to {max} auctions by id, such as 1,2,3.",
		"have.not_a_list":     "Give the version that you have of each auction, such as 4,0,17; 0 for none.",

		// Accounts.
		"not_an_email":         "Enter an e-mail address such as ana@example.com.",
		"not_plain":            "Enter an e-mail address of plain letters, digits and signs, such as ana@example.com.",
		"email.not_given":      "Enter your e-mail.",
		"email.taken":          "There is an account with this e-mail address already.",
		"name.missing":         "Enter your name.",
		"name.too_long":        "Shorten the name to at most {max} characters.",
		"name.too_many":        "There are {count} tokens already: revoke one that is no longer used.",
		"seller-name.too_long": "Shorten the name to at most {max} characters.",
		"like_a_number":        "Choose a name that does not look like a seller's number.",
		"mixed_alphabets": "Write each word of the name in one alphabet. Letters of two alphabets can look " +
			"the same.",
		"password.missing":   "Enter a password.",
		"password.not_given": "Enter your password.",
		"password.not_text":  "Enter a password of letters, digits and signs.",
		"password.too_short": "Choose a password of at least {min} characters.",
		"password.too_long":  "Choose a password of at most {max} characters.",
		"blank":              "Choose a password with letters, digits or signs: one of blanks alone cannot be seen.",
		"common":             "Choose another password: this one is among the first that anybody would try.",
		"own_name":           "Choose a password that is not your name or your e-mail address.",
		"role.unknown":       "Choose the role user, seller or admin.",
	},
	problems: map[string]Problem{
		"key_missing": {
			Title:  "Idempotency key missing",
			Detail: "Send an Idempotency-Key header with a fresh UUID; send the same one again to retry.",
			Bid:    formUnreadable,
		},
		"key_invalid": {
			Title:  "Idempotency key invalid",
			Detail: "The Idempotency-Key header is one UUID, such as 8e03978e-40d5-43e8-bc93-6894a57f9324.",
			Bid:    formUnreadable,
		},
		"signed_out": {
			Title:  "Not signed in",
			Detail: "Send a token as Authorization: Bearer, or sign in.",
			Bid:    signedOut,
		},
		"bad_token": {
			Title:  "Not signed in",
			Detail: "The token is unknown or was revoked.",
			Bid:    signedOut,
		},
		"wrong_password": {Title: "Not signed in", Detail: "The e-mail or password is wrong."},
		"not_allowed": {
			Title:  "Not allowed",
			Detail: "This account may not do that.",
			Bid:    "Your account may not bid here.",
		},
		"other_viewer": {
			Title: "Signed in as somebody else",
			Detail: "Somebody else has signed in since this page was opened, so nothing was done. " +
				"Go back, reload the page and try again.",
			Bid: "You have signed in as somebody else since this page was opened, so nothing was bid.",
		},
		"needs_session": {Title: "Not allowed", Detail: "A token cannot do this. Sign in with a browser."},
		"demo_elsewhere": {
			Title:  "Not allowed",
			Detail: "Demo accounts sign in only on the machine that the house runs on.",
		},
		"blocked": {
			Title:  "Not allowed",
			Detail: "The house has blocked this account.",
			Form:   "The house has blocked this account. Ask the house why.",
		},
		"cross_origin": {Title: "Not allowed", Detail: "The request came from a page of another site."},
		"own_auction": {
			Title:  "Own auction",
			Detail: "A seller does not bid on an own auction.",
			Bid:    "This is your own lot: a seller may not bid on it.",
		},
		"not_found": {Title: "Not found", Detail: "There is nothing at this address.", Bid: formUnreadable},
		"method_not_allowed": {
			Title:  "Method not allowed",
			Detail: "The Allow header says what can be done here.",
		},
		"cancelled": {
			Title:  "Auction cancelled",
			Detail: "The auction was cancelled.",
			Bid:    "This lot was withdrawn from sale: no bids are taken.",
		},
		"has_bids":  {Title: "Auction has bids", Detail: "After the first bid only an admin can cancel the auction."},
		"too_large": {Title: "Too large", Detail: "A body has at most 64 KiB.", Bid: formUnreadable},
		"unsupported_media": {
			Title:  "Unsupported media type",
			Detail: "Send application/json.",
			Bid:    formUnreadable,
		},
		"lot_key_reused": {
			Title:  "Idempotency key reused",
			Detail: "Another auction was opened with this key. Use a fresh one for each auction.",
			Form: "This form was published before, with other words or figures in it. " +
				"Find that lot under My lots; for another one begin with an empty form.",
		},
		"key_reused": {
			Title:  "Idempotency key reused",
			Detail: "This key was used before with another bidder or amount. Use a fresh one for another bid.",
			Bid:    "This form was used for another bid before, so nothing new was bid. Enter your bid again.",
		},
		"search_crowd": {
			Title:  "Many people search at once",
			Detail: "More people search than the house can answer at once. Search again in a few seconds.",
		},
		"search_too_wide": {
			Title:  "That is too wide a search",
			Detail: "This search takes too long. Add a word, or write more of a word, and search again.",
		},
		"unavailable": {
			Title:  "Unavailable",
			Detail: "The house cannot answer at this moment. Send the same request, with the same key, again.",
			Bid: "No bids can be taken at this moment. Press the button again shortly: " +
				"the same bid never counts twice.",
		},
		"viewers_full": {
			Title:  "Unavailable",
			Detail: "No more live viewers can be taken here at this moment.",
		},
		"fault": {
			Title:  "Internal error",
			Detail: "Something went wrong here. The request id tells us what.",
			Bid: "Something went wrong here, and it is not known whether your bid was counted. " +
				"Press the button again shortly: the same bid never counts twice.",
		},
		"too_low": {
			Title:  "Bid too low",
			Detail: "The least bid is {minimumBid}.",
			Bid:    "{amount} is too low. Bid at least {minimumBid}.",
		},
		"unconfirmed": {
			Title: "Confirmation needed",
			Detail: "The bid raises the own lead or is far above the least bid. " +
				"Send it again with what is to be confirmed.",
		},
		"closed": {
			Title:  "Auction closed",
			Detail: "The auction ended at {endTime}.",
			Bid: "Too late: bidding ended at {endTime:clock}, " +
				"and your bid was decided at {serverTime:clock} by the house clock.",
		},
		"not_started": {
			Title:  "Auction not started",
			Detail: "The auction starts at {startTime}.",
			Bid:    "Too early: bidding opens on {startTime:full}.",
		},
		"invalid_field": {Title: "Invalid field"},
		"too_many_bids": {
			Title:  "Too many requests",
			Detail: sendAgain,
			Bid:    "You are bidding too quickly. Nothing was bid; try again in a second.",
		},
		"too_many_tries": {
			Title:  "Too many requests",
			Detail: sendAgain,
			Form:   "Too many tries from here. You can try again in {wait}.",
		},
		"opened_lately": {
			Title:  "Too many requests",
			Detail: "You have opened {count} auctions within a minute. Open the next one in a minute.",
		},
		"too_many_open": {
			Title:  "Too many requests",
			Detail: "You have {count} auctions that are not over. Open the next one when some of them are.",
		},
		"moved_lately": {
			Title:  "Too many requests",
			Detail: "This auction was moved a moment ago. Move it again after the time in Retry-After.",
		},
		"body_broke_off":     {Title: malformed, Detail: "The body broke off.", Bid: formUnreadable},
		"body_not_utf8":      {Title: malformed, Detail: "The body is not UTF-8."},
		"body_not_json":      {Title: malformed, Detail: "The body is not JSON."},
		"body_not_an_object": {Title: malformed, Detail: "The body is not a JSON object."},
		"named_twice":        {Title: malformed, Detail: "The body has {name} twice."},
		"form_unreadable":    {Title: malformed, Detail: "The form cannot be read.", Bid: formUnreadable},
		"form_not_utf8":      {Title: malformed, Detail: "The form is not UTF-8.", Bid: formUnreadable},
		"bad_query":          {Title: malformed, Detail: "The query of the URL is malformed."},
		"no_upgrade": {
			Title:  malformed,
			Detail: "This address speaks WebSocket, version 13: ask for an upgrade.",
		},
	},
	statuses: map[int]Status{
		http.StatusBadRequest: {
			"That request made no sense to us", "Go back, reload the page, and try it once more.",
		},
		http.StatusUnauthorized: {"You are signed out", "Sign in, and you come back to this page."},
		http.StatusForbidden: {
			"This is not yours to do", "If it should be, sign in with the account that may do it.",
		},
		http.StatusNotFound: {
			"There is nothing here",
			"The address may be mistyped, or what was here is gone. All lots are in the list.",
		},
		http.StatusMethodNotAllowed: {
			"This page does not work that way", "Use the links and buttons of the house to get here.",
		},
		http.StatusRequestEntityTooLarge: {"That was too much at once", "Shorten what you sent and try again."},
		http.StatusTooManyRequests: {
			"Slower, please",
			"You asked more often than the house can answer one person. Wait a moment, then reload the page.",
		},
		http.StatusInternalServerError: {
			"Something went wrong on our side",
			"It has been written down. Your bids that were accepted are safe. Reload the page in a moment.",
		},
		http.StatusServiceUnavailable: {
			"The house is closed for a moment",
			"Bids that were accepted are safe. Reload the page shortly; " +
				"sending the same bid again never counts it twice.",
		},
	},
	sentences: map[Key]string{
		BidAccepted: "Your bid of {amount} was accepted.",
		BidLeads:    "Your bid of {amount} was accepted: you are the highest bidder.",
		BidWon:      "Your bid of {amount} was accepted, and you won the lot.",
		BidOutbid:   "Your bid of {amount} was accepted and has been outbid since. Bid at least {minimum}.",
		BidReplayed: "{sentence} (It had arrived already and was counted once.)",
		BidAcceptedBlind: "Your bid of {amount} was accepted. " +
			"Whether you still lead cannot be shown at this moment.",
		BidAcceptedTitle: "Your bid was accepted",
		AlreadyLeading:   "You are the highest bidder already, at {price}. Nothing more was bid.",
		AskOwnLead: "You are the highest bidder already, at {price}. " +
			"Raise your own bid to {amount}? To bid otherwise, change the amount.",
		AskFarAbove: "{amount} is far above the minimum bid of {minimum}. " +
			"Bid {amount} all the same? To bid otherwise, change the amount.",
		AskOwnLeadFar: "You are the highest bidder already, at {price}. " +
			"{amount} is far above the minimum bid of {minimum}. " +
			"Raise your own bid to {amount}? To bid otherwise, change the amount.",
		ChoiceBid:       "Bid {amount}",
		ChoiceConfirm:   "Yes, bid {amount}",
		LinkReload:      "Reload the page",
		LinkReloadBlind: "Reload the page.",
		LinkSignIn:      "Sign in and come back",

		ChoiceFirstTime:  "The first {time} (UTC{offset})",
		ChoiceSecondTime: "The second {time} (UTC{offset})",
		OldPasswordWrong: "This is not your password now. Enter the one you signed in with.",
		DraftSignedOut: "You are signed out. Sign in: your lot comes back as you entered it. " +
			"Nothing was published.",
		DraftOtherViewer: "Somebody else has signed in here since the form was opened. Sign in as yourself: " +
			"your lot comes back as you entered it. Nothing was published.",
		DraftNotForSeller: "This account may not sell. Sign in with one that may: " +
			"your lot comes back as you entered it. Nothing was published.",

		DoneWithdrawn:      "Lot {lot} was withdrawn.",
		DonePublished:      "Lot {lot} is published.",
		DoneNotKept:        "This lot is not kept any more. Enter it again.",
		DoneSignedUp:       "Welcome to the house, {name}.",
		DoneMaySell:        "You can sell now.",
		DoneSellerName:     "Your seller name is saved.",
		DonePassword:       "Your password is changed. You are signed out everywhere else.",
		DoneSignedOut:      "You are signed out.",
		DoneSignedOutOfAll: "You are signed out everywhere.",
		DoneTokenRevoked:   "The token was revoked.",

		TitleNewAuction: "Put a lot up for sale",
		TitleReview:     "Check your lot",
		TitleAccount:    "Your account",
		TitleSignUp:     "Create account",
		TitleSignIn:     "Sign in",
		TitleMyBids:     "My bids",
		TitleMyAuctions: "My lots",
		TitleHelp:       "How bidding works",
		TitleBids:       "Bids on lot {lot}",
		CaptionBids:     "Bids",
	},
}

// Sentences that are said of several problems.
const (
	malformed      = "Malformed request"
	sendAgain      = "Nothing was recorded. Send the same again after the time in Retry-After."
	signedOut      = "You are signed out, so nothing was bid. Your amount is kept."
	formUnreadable = "The form could not be read, so nothing was bid. Enter your bid again."
)

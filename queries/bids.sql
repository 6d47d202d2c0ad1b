-- name: BidsByRequest :many
-- BidsByRequest finds which of the keys this auction has accepted before. One index probe a key: with = ANY the generic plan
-- reads every bid of the auction.
SELECT sqlc.embed(bids)
FROM unnest(@request_ids::uuid[]) AS wanted (request_id)
CROSS JOIN LATERAL (
    SELECT * FROM bids b WHERE b.auction_id = @auction_id AND b.request_id = wanted.request_id LIMIT 1
) AS bids;

-- name: BidPaddles :many
-- BidPaddles finds the paddle numbers that returning bidders have in this auction, one index probe a bidder.
SELECT wanted.bidder_id::bigint AS bidder_id, known.paddle
FROM unnest(@bidder_ids::bigint[]) AS wanted (bidder_id)
CROSS JOIN LATERAL (
    SELECT b.paddle FROM bids b WHERE b.bidder_id = wanted.bidder_id AND b.auction_id = @auction_id LIMIT 1
) AS known;

-- name: BidsByRequestOfMany :many
-- BidsByRequestOfMany is BidsByRequest for keys of several auctions: the n-th key was sent to the n-th
-- auction.
SELECT sqlc.embed(bids)
FROM (SELECT unnest(@auction_ids::bigint[]) AS auction_id, unnest(@request_ids::uuid[]) AS request_id) AS wanted
CROSS JOIN LATERAL (
    SELECT * FROM bids b WHERE b.auction_id = wanted.auction_id AND b.request_id = wanted.request_id LIMIT 1
) AS bids;

-- name: BidPaddlesOfMany :many
-- BidPaddlesOfMany is BidPaddles for bidders of several auctions: the n-th bidder bids in the n-th
-- auction.
SELECT wanted.auction_id::bigint AS auction_id, wanted.bidder_id::bigint AS bidder_id, known.paddle
FROM (SELECT unnest(@auction_ids::bigint[]) AS auction_id, unnest(@bidder_ids::bigint[]) AS bidder_id) AS wanted
CROSS JOIN LATERAL (
    SELECT b.paddle FROM bids b
    WHERE b.bidder_id = wanted.bidder_id AND b.auction_id = wanted.auction_id LIMIT 1
) AS known;

-- name: BidsLatest :many
-- BidsLatest are an auction's newest bids, newest first.
SELECT * FROM bids WHERE auction_id = @auction_id ORDER BY seq DESC LIMIT @row_limit;

-- name: BidsLatestOfMany :many
-- BidsLatestOfMany are the newest bids of each auction asked for, newest first within each.
SELECT sqlc.embed(bids)
FROM unnest(@auction_ids::bigint[]) AS wanted (auction_id)
CROSS JOIN LATERAL (
    SELECT * FROM bids b WHERE b.auction_id = wanted.auction_id ORDER BY b.seq DESC LIMIT @row_limit
) AS bids;

-- name: BidsAfter :many
-- BidsAfter reads the log forward from a sequence number.
SELECT * FROM bids WHERE auction_id = @auction_id AND seq > @after_seq ORDER BY seq LIMIT @row_limit;

-- name: BidsBetween :many
-- BidsBetween reads the part of the log that an event row points at.
SELECT * FROM bids WHERE auction_id = @auction_id AND seq BETWEEN @first_seq AND @last_seq ORDER BY seq;

-- name: BidMineIn :one
-- BidMineIn is a bidder's highest bid in an auction.
SELECT * FROM bids WHERE bidder_id = @bidder_id AND auction_id = @auction_id ORDER BY seq DESC LIMIT 1;

-- name: AuctionLockIfFree :one
-- AuctionLockIfFree is AuctionLock for work that anybody may do: it returns no row while somebody else is at it.
SELECT * FROM auctions WHERE id = @id FOR NO KEY UPDATE SKIP LOCKED;

-- name: AuctionRow :one
SELECT * FROM auctions WHERE id = @id;

-- name: AuctionMoveHot :one
-- AuctionMoveHot makes Redis the place where bids are decided, under a fresh epoch. Sent under AuctionLock.
UPDATE auctions
SET lane = 'hot', lane_epoch = nextval('auction_hot_epochs'), version = version + 1,
    status = CASE WHEN status = 'SCHEDULED' AND start_at <= clock_timestamp() THEN 'OPEN' ELSE status END
WHERE id = @id AND status IN ('OPEN', 'SCHEDULED')
RETURNING *;

-- name: AuctionMoveStandard :one
-- AuctionMoveStandard makes PostgreSQL the place where bids are decided. Sent under AuctionLock, once Redis decides nothing any more.
UPDATE auctions
SET lane = 'standard', version = version + 1
WHERE id = @id AND lane = 'hot' AND status IN ('OPEN', 'SCHEDULED')
RETURNING *;

-- name: AuctionBidsSettle :execrows
-- AuctionBidsSettle moves a hot auction on and appends a batch of bids that Redis has decided, with their event, in one statement. Its
-- WHERE holds the epoch and the place in the log; no row means that somebody else has settled or moved the auction.
WITH moved AS (
    UPDATE auctions
    SET current_price = @current_price,
        leader_id     = @leader_id,
        leader_paddle = @leader_paddle,
        bid_count     = @bid_count,
        bidder_count  = @bidder_count,
        end_at        = @end_at,
        version       = @version
    WHERE auctions.id = @auction_id
      AND lane = 'hot'
      AND lane_epoch = @lane_epoch
      AND status = 'OPEN'
      AND bid_count = @bids_before
    RETURNING auctions.id
), told AS (
    INSERT INTO outbox (topic, auction_id, first_seq, last_seq)
    SELECT 'bid-accepted', moved.id, @first_seq, @bid_count FROM moved
)
INSERT INTO bids (id, auction_id, seq, bidder_id, paddle, amount, request_id, accepted_at) OVERRIDING SYSTEM VALUE
SELECT b.id, moved.id, b.seq, b.bidder_id, b.paddle, b.amount, b.request_id, b.accepted_at
FROM moved, (SELECT unnest(@ids::bigint[]) AS id, unnest(@seqs::bigint[]) AS seq, unnest(@bidder_ids::bigint[]) AS bidder_id,
    unnest(@paddles::integer[]) AS paddle, unnest(@amounts::bigint[]) AS amount, unnest(@request_ids::uuid[]) AS request_id,
    unnest(@accepted_ats::timestamptz[]) AS accepted_at) AS b;

-- name: AuctionHotClose :one
-- AuctionHotClose closes a hot auction as the rulebook decided, with its event. Sent under AuctionLock,
-- once all that Redis decided is in the log. No row means that it is not what was decided about.
WITH closed AS (
    UPDATE auctions a
    SET status = 'CLOSED', closed_at = @closed_at, version = @version
    WHERE a.id = @id AND a.lane = 'hot' AND a.lane_epoch = @lane_epoch AND a.status = 'OPEN' AND a.end_at <= @closed_at
    RETURNING a.id
), told AS (
    INSERT INTO outbox (topic, auction_id) SELECT 'auction-closed', closed.id FROM closed
)
SELECT closed.id FROM closed;

-- name: AuctionHotOpen :many
-- AuctionHotOpen names the hot auctions that Redis may decide for, from an id on, with how far the log is.
SELECT id, lane_epoch, bid_count FROM auctions
WHERE status = 'OPEN' AND lane = 'hot' AND id > @after_id
ORDER BY id
LIMIT @row_limit;

-- name: AuctionHotDue :many
-- AuctionHotDue names the hot auctions whose end has come by what the log knows; a bid in Redis may have moved it. It looks for them as
-- AuctionsDue does.
SELECT id FROM auctions
WHERE status = 'OPEN' AND lane = 'hot'
  AND original_end_at <= (SELECT clock_timestamp()) AND end_at <= (SELECT clock_timestamp())
ORDER BY original_end_at, id
LIMIT @row_limit;

-- name: BidIDsReserve :many
-- BidIDsReserve draws ids for bids that Redis will decide, from where the log draws its own.
SELECT nextval(pg_get_serial_sequence('bids', 'id')::regclass)::bigint AS id FROM generate_series(1, @row_count::integer);

-- name: BidPaddlesAll :many
-- BidPaddlesAll is everybody's paddle number in an auction.
SELECT bidder_id, min(paddle)::integer AS paddle FROM bids WHERE auction_id = @auction_id GROUP BY bidder_id;

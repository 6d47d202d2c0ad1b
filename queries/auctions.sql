-- name: Clock :one
-- Clock reads the only clock that decides. Sent as a statement of its own after AuctionLock, it is read once the lock is held.
SELECT clock_timestamp()::timestamptz AS now;

-- name: AuctionLock :one
-- AuctionLock takes the auction's row lock, the one place where an auction's bids, cancelling and closing meet.
-- NO KEY: rows that refer to the auction may still be written.
SELECT * FROM auctions WHERE id = @id FOR NO KEY UPDATE;

-- name: AuctionBidsWrite :many
-- AuctionBidsWrite moves the auction and appends a batch of decided bids, with their event, in one statement: all or nothing.
-- Its WHERE states the rule once more, against the clock and the row as they are now; no row back means that the
-- decision no longer holds and must be made again.
WITH moved AS (
    UPDATE auctions
    SET current_price = @current_price,
        leader_id     = @leader_id,
        leader_paddle = @leader_paddle,
        bid_count     = @bid_count,
        bidder_count  = @bidder_count,
        end_at        = @end_at,
        status        = 'OPEN',
        version       = @version
    WHERE auctions.id = @auction_id
      AND lane = 'standard'
      AND status IN ('OPEN', 'SCHEDULED')
      AND start_at <= clock_timestamp()
      AND end_at > clock_timestamp()
      AND current_price + min_increment <= @first_amount
      AND bid_count = @bids_before
    RETURNING auctions.id
), logged AS (
    INSERT INTO bids (auction_id, seq, bidder_id, paddle, amount, request_id, accepted_at)
    SELECT moved.id, b.seq, b.bidder_id, b.paddle, b.amount, b.request_id, @accepted_at
    FROM moved, (SELECT unnest(@seqs::bigint[]) AS seq, unnest(@bidder_ids::bigint[]) AS bidder_id,
        unnest(@paddles::integer[]) AS paddle, unnest(@amounts::bigint[]) AS amount, unnest(@request_ids::uuid[]) AS request_id) AS b
    RETURNING bids.id, bids.seq
), told AS (
    INSERT INTO outbox (topic, auction_id, first_seq, last_seq)
    SELECT 'bid-accepted', moved.id, @first_seq, @bid_count FROM moved
)
SELECT logged.id, logged.seq FROM logged ORDER BY logged.seq;

-- name: AuctionInsert :one
-- AuctionInsert opens an auction with its words. A seller's request id that was used before inserts nothing.
WITH opened AS (
    INSERT INTO auctions (seller_id, currency, currency_digits, start_price, min_increment, current_price, status, lane,
        soft_close_window_seconds, soft_close_extend_seconds, start_at, end_at, original_end_at, request_id)
    VALUES (@seller_id, @currency, @currency_digits, @start_price, @min_increment, @start_price, @status, @lane,
        @soft_close_window_seconds, @soft_close_extend_seconds, @start_at, @end_at, @end_at, sqlc.narg(request_id))
    ON CONFLICT ON CONSTRAINT auctions_seller_request_key DO NOTHING
    RETURNING auctions.id
)
INSERT INTO lots (auction_id, title, description)
SELECT opened.id, @title, @description FROM opened
RETURNING auction_id;

-- name: AuctionsOfSellerCount :one
-- AuctionsOfSellerCount counts a seller's newest auctions, no more than are looked at: those that are not over, the hot ones among them, and
-- those that were opened within the last minute.
SELECT count(*) FILTER (WHERE newest.status IN ('OPEN', 'SCHEDULED')) AS lasting,
    count(*) FILTER (WHERE newest.status IN ('OPEN', 'SCHEDULED') AND newest.lane = 'hot') AS hot,
    count(*) FILTER (WHERE newest.created_at > clock_timestamp() - interval '1 minute') AS lately
FROM (SELECT a.status, a.lane, a.created_at FROM auctions a WHERE a.seller_id = @seller_id ORDER BY a.id DESC LIMIT @row_limit) AS newest;

-- name: AuctionByRequest :one
-- AuctionByRequest is the auction that a seller's request id opened, with its words.
SELECT sqlc.embed(auctions), lots.title, lots.description FROM auctions JOIN lots ON lots.auction_id = auctions.id
WHERE auctions.seller_id = @seller_id AND auctions.request_id = @request_id;

-- name: AuctionCancel :execrows
-- AuctionCancel ends an auction without a winner. Sent under AuctionLock; the WHERE holds if it is not.
UPDATE auctions
SET status = 'CANCELLED', closed_at = @closed_at, version = version + 1
WHERE id = @id AND status IN ('OPEN', 'SCHEDULED') AND version = @version;

-- name: AuctionCloseDue :many
-- AuctionCloseDue closes up to row_limit auctions whose end has come, and writes their events in the same statement.
-- The CTE is materialized: a plan that ran the subquery once a row would close more than its limit. It is handed over as an array: a plan for
-- any limit would join by reading the whole table. Rows locked by a bid or another closer are left for the next turn; a row that
-- moved its end meanwhile is checked again by FOR UPDATE itself. The clock is a subquery's, read once before: compared with the clock itself,
-- every open auction would be looked at.
-- Hot auctions end in Redis and are closed by the hot lane (AuctionHotClose).
WITH due AS MATERIALIZED (
    SELECT id FROM auctions
    WHERE status = 'OPEN' AND lane = 'standard' AND end_at <= (SELECT clock_timestamp()) AND id <> ALL (@passed_over::bigint[])
    ORDER BY end_at, id
    LIMIT @row_limit
    FOR NO KEY UPDATE SKIP LOCKED
), closed AS (
    UPDATE auctions a
    SET status = 'CLOSED', closed_at = clock_timestamp(), version = version + 1
    WHERE a.id = ANY (ARRAY (SELECT due.id FROM due))
    RETURNING a.*
), told AS (
    INSERT INTO outbox (topic, auction_id) SELECT 'auction-closed', closed.id FROM closed ORDER BY closed.id
)
SELECT sqlc.embed(auctions) FROM closed AS auctions;

-- name: AuctionDueIDs :many
-- AuctionDueIDs names what AuctionCloseDue would close, to close one by one when a single row makes the set fail.
SELECT id FROM auctions
WHERE status = 'OPEN' AND lane = 'standard' AND end_at <= (SELECT clock_timestamp()) AND id <> ALL (@passed_over::bigint[])
ORDER BY end_at, id
LIMIT @row_limit;

-- name: AuctionCloseOne :many
-- AuctionCloseOne is AuctionCloseDue for one auction, so that one that cannot close does not stop the others.
WITH due AS MATERIALIZED (
    SELECT ended.id FROM auctions ended
    WHERE ended.id = @id AND ended.status = 'OPEN' AND ended.lane = 'standard' AND ended.end_at <= clock_timestamp()
    FOR NO KEY UPDATE SKIP LOCKED
), closed AS (
    UPDATE auctions a
    SET status = 'CLOSED', closed_at = clock_timestamp(), version = version + 1
    WHERE a.id = ANY (ARRAY (SELECT due.id FROM due))
    RETURNING a.*
), told AS (
    INSERT INTO outbox (topic, auction_id) SELECT 'auction-closed', closed.id FROM closed
)
SELECT sqlc.embed(auctions) FROM closed AS auctions;

-- name: AuctionOpenDue :many
-- AuctionOpenDue opens up to row_limit scheduled auctions whose start has come.
WITH due AS MATERIALIZED (
    SELECT waiting.id AS due_id FROM auctions waiting
    WHERE waiting.status = 'SCHEDULED' AND waiting.start_at <= (SELECT clock_timestamp()) AND waiting.id <> ALL (@passed_over::bigint[])
    ORDER BY waiting.start_at, waiting.id
    LIMIT @row_limit
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE auctions
SET status = 'OPEN', version = version + 1
WHERE auctions.id = ANY (ARRAY (SELECT due.due_id FROM due))
RETURNING sqlc.embed(auctions);

-- name: AuctionOpenDueIDs :many
-- AuctionOpenDueIDs names what AuctionOpenDue would open, to open one by one when a single row makes the set fail.
SELECT id FROM auctions
WHERE status = 'SCHEDULED' AND start_at <= (SELECT clock_timestamp()) AND id <> ALL (@passed_over::bigint[])
ORDER BY start_at, id
LIMIT @row_limit;

-- name: AuctionOpenOne :many
-- AuctionOpenOne is AuctionOpenDue for one auction, so that one that cannot open does not stop the others.
WITH due AS MATERIALIZED (
    SELECT waiting.id AS due_id FROM auctions waiting
    WHERE waiting.id = @id AND waiting.status = 'SCHEDULED' AND waiting.start_at <= clock_timestamp()
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE auctions
SET status = 'OPEN', version = version + 1
WHERE auctions.id = ANY (ARRAY (SELECT due.due_id FROM due))
RETURNING sqlc.embed(auctions);

-- name: AuctionNextDue :one
-- AuctionNextDue is how many milliseconds from now the next auction opens or ends, or otherwise_milliseconds when none will. A hot
-- auction does not count, since it ends in Redis, nor does one that is passed over.
SELECT COALESCE((EXTRACT(EPOCH FROM (LEAST(
        (SELECT min(end_at) FROM auctions WHERE status = 'OPEN' AND lane = 'standard' AND id <> ALL (@passed_over::bigint[])),
        (SELECT min(start_at) FROM auctions WHERE status = 'SCHEDULED' AND id <> ALL (@passed_over::bigint[]))) - clock_timestamp())) * 1000)::bigint, @otherwise_milliseconds::bigint)::bigint AS wait_milliseconds;

-- name: AuctionsLive :many
-- AuctionsLive reads the public state of the auctions somebody watches, with the clock they were read at.
SELECT sqlc.embed(auctions), clock_timestamp()::timestamptz AS now
FROM unnest(@ids::bigint[]) AS wanted (id) JOIN auctions ON auctions.id = wanted.id;

-- name: AuctionVersions :many
-- AuctionVersions is the cheap question of the reconciler: which of the watched auctions stand otherwise than is known. The version alone
-- would not tell a state that somebody made up under a version which the database has given since.
SELECT auctions.id, auctions.version, auctions.current_price, auctions.leader_id, auctions.bid_count, auctions.status, auctions.end_at
FROM unnest(@ids::bigint[]) AS wanted (id) JOIN auctions ON auctions.id = wanted.id;

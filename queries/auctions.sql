-- name: Clock :one
-- Clock reads the only clock that decides. Sent as a statement of its own after AuctionLock, it is read once the lock is held.
SELECT clock_timestamp()::timestamptz AS now;

-- name: AuctionLock :one
-- AuctionLock takes the auction's row lock, the one place where an auction's bids, cancelling and closing meet.
-- NO KEY: rows that refer to the auction may still be written.
SELECT * FROM auctions WHERE id = @id FOR NO KEY UPDATE;

-- name: AuctionsLock :many
-- AuctionsLock takes the row locks of several auctions, always in the order of their ids, so that no
-- two transactions wait for each other. It passes over those that somebody else holds.
SELECT * FROM auctions WHERE id = ANY(@ids::bigint[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED;

-- name: BidsWrite :many
-- BidsWrite moves auctions and appends the bids that were decided, with their events, in one
-- statement. Its WHERE states the rule once more for each auction, against the clock and the row as
-- they are now. An auction that is not among the rows which come back was left as it is, with all its
-- bids: its decision no longer holds and must be made again. The n-th of the figures that describe
-- auctions belong together, and so do the n-th of those that describe bids (bid_*).
WITH decided AS (
    SELECT unnest(@auction_ids::bigint[]) AS id, unnest(@current_prices::bigint[]) AS current_price,
        unnest(@leader_ids::bigint[]) AS leader_id, unnest(@leader_paddles::integer[]) AS leader_paddle,
        unnest(@bid_counts::bigint[]) AS bid_count, unnest(@bidder_counts::integer[]) AS bidder_count,
        unnest(@end_ats::timestamptz[]) AS end_at, unnest(@versions::bigint[]) AS version,
        unnest(@first_amounts::bigint[]) AS first_amount, unnest(@bids_before::bigint[]) AS bids_before
), moved AS (
    UPDATE auctions
    SET current_price = decided.current_price,
        leader_id     = decided.leader_id,
        leader_paddle = decided.leader_paddle,
        bid_count     = decided.bid_count,
        bidder_count  = decided.bidder_count,
        end_at        = decided.end_at,
        status        = 'OPEN',
        version       = decided.version
    FROM decided
    WHERE auctions.id = decided.id
      AND auctions.lane = 'standard'
      AND auctions.status IN ('OPEN', 'SCHEDULED')
      AND auctions.start_at <= clock_timestamp()
      AND auctions.end_at > clock_timestamp()
      AND auctions.current_price + auctions.min_increment <= decided.first_amount
      AND auctions.bid_count = decided.bids_before
    RETURNING auctions.id, decided.bids_before, decided.bid_count
), logged AS (
    INSERT INTO bids (auction_id, seq, bidder_id, paddle, amount, request_id, accepted_at)
    SELECT moved.id, b.seq, b.bidder_id, b.paddle, b.amount, b.request_id, @accepted_at
    FROM (SELECT unnest(@bid_auction_ids::bigint[]) AS auction_id, unnest(@bid_seqs::bigint[]) AS seq,
        unnest(@bid_bidder_ids::bigint[]) AS bidder_id, unnest(@bid_paddles::integer[]) AS paddle,
        unnest(@bid_amounts::bigint[]) AS amount, unnest(@bid_request_ids::uuid[]) AS request_id) AS b
    JOIN moved ON moved.id = b.auction_id
    RETURNING bids.auction_id, bids.seq, bids.id
), told AS (
    INSERT INTO outbox (topic, auction_id, first_seq, last_seq)
    SELECT 'bid-accepted', moved.id, moved.bids_before + 1, moved.bid_count FROM moved
)
SELECT logged.auction_id, logged.seq, logged.id FROM logged;

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
-- AuctionCancel ends an auction without a winner, as the rulebook decided about the version.
-- Sent under AuctionLock. Its WHERE states the rule once more: from the end on, whoever led has
-- won.
UPDATE auctions
SET status = 'CANCELLED', closed_at = @closed_at, version = version + 1
WHERE id = @id AND status IN ('OPEN', 'SCHEDULED') AND version = @version AND end_at > @closed_at;

-- name: AuctionsDue :many
-- AuctionsDue locks up to row_limit auctions whose end has come, to be closed by AuctionsClose
-- in the same transaction. Rows that a bid or another closer holds are left for the next turn. A
-- row that moved its end meanwhile is checked again by FOR UPDATE itself. The clock is a
-- subquery's, read once before: compared with the clock itself, every open auction would be
-- looked at. Bids move the end and not the original end, which is never later and has the index.
-- So an auction that is being extended is looked at in vain, once a turn. Hot auctions end in
-- Redis and are closed one by one (AuctionHotClose).
SELECT * FROM auctions
WHERE status = 'OPEN' AND lane = 'standard' AND id <> ALL (@passed_over::bigint[])
  AND original_end_at <= (SELECT clock_timestamp()) AND end_at <= (SELECT clock_timestamp())
ORDER BY original_end_at, id
LIMIT @row_limit
FOR NO KEY UPDATE SKIP LOCKED;

-- name: AuctionsDueIDs :many
-- AuctionsDueIDs names what AuctionsDue would lock, to close it one by one when a single row
-- makes the set fail.
SELECT id FROM auctions
WHERE status = 'OPEN' AND lane = 'standard' AND id <> ALL (@passed_over::bigint[])
  AND original_end_at <= (SELECT clock_timestamp()) AND end_at <= (SELECT clock_timestamp())
ORDER BY original_end_at, id
LIMIT @row_limit;

-- name: AuctionsClose :many
-- AuctionsClose closes auctions as the rulebook decided, with their events and their places in
-- lists. Its WHERE states the rule once more. An auction that is not among those which come back
-- is not what was decided about, and was left as it is. The n-th of the versions is that of the
-- n-th id.
WITH decided AS (
    SELECT unnest(@ids::bigint[]) AS id, unnest(@versions::bigint[]) AS version
), closed AS (
    UPDATE auctions
    SET status = 'CLOSED', closed_at = @closed_at, version = decided.version
    FROM decided
    WHERE auctions.id = decided.id AND auctions.status = 'OPEN' AND auctions.lane = 'standard'
      AND auctions.end_at <= @closed_at AND auctions.end_at <= clock_timestamp()
      AND auctions.version = decided.version - 1
    RETURNING auctions.id, auctions.status, auctions.end_at, auctions.nominal_price, auctions.version
), told AS (
    INSERT INTO outbox (topic, auction_id) SELECT 'auction-closed', closed.id FROM closed ORDER BY closed.id
), listed AS (
    UPDATE listings
    SET status = closed.status, end_at = closed.end_at, nominal_price = closed.nominal_price, version = closed.version
    FROM closed
    WHERE listings.auction_id = closed.id AND listings.version < closed.version
)
SELECT closed.id FROM closed;

-- name: AuctionsToOpen :many
-- AuctionsToOpen locks up to row_limit scheduled auctions whose start has come, as AuctionsDue
-- locks those whose end has.
SELECT * FROM auctions
WHERE status = 'SCHEDULED' AND start_at <= (SELECT clock_timestamp()) AND id <> ALL (@passed_over::bigint[])
ORDER BY start_at, id
LIMIT @row_limit
FOR NO KEY UPDATE SKIP LOCKED;

-- name: AuctionsToOpenIDs :many
-- AuctionsToOpenIDs names what AuctionsToOpen would lock.
SELECT id FROM auctions
WHERE status = 'SCHEDULED' AND start_at <= (SELECT clock_timestamp()) AND id <> ALL (@passed_over::bigint[])
ORDER BY start_at, id
LIMIT @row_limit;

-- name: AuctionsOpen :many
-- AuctionsOpen opens auctions as the rulebook decided, in the way of AuctionsClose.
WITH decided AS (
    SELECT unnest(@ids::bigint[]) AS id, unnest(@versions::bigint[]) AS version
), opened AS (
    UPDATE auctions
    SET status = 'OPEN', version = decided.version
    FROM decided
    WHERE auctions.id = decided.id AND auctions.status = 'SCHEDULED' AND auctions.start_at <= clock_timestamp()
      AND auctions.version = decided.version - 1
    RETURNING auctions.id, auctions.status, auctions.end_at, auctions.nominal_price, auctions.version
), listed AS (
    UPDATE listings
    SET status = opened.status, end_at = opened.end_at, nominal_price = opened.nominal_price, version = opened.version
    FROM opened
    WHERE listings.auction_id = opened.id AND listings.version < opened.version
)
SELECT opened.id FROM opened;

-- name: AuctionNextDue :one
-- AuctionNextDue is how many milliseconds from now the next auction opens or ends, or otherwise_milliseconds when none will. A hot
-- auction does not count, since it ends in Redis, nor does one that is passed over.
SELECT COALESCE((EXTRACT(EPOCH FROM (LEAST(
        (SELECT min(original_end_at) FROM auctions
         WHERE status = 'OPEN' AND lane = 'standard' AND id <> ALL (@passed_over::bigint[])
           AND original_end_at > (SELECT clock_timestamp())),
        (SELECT min(end_at) FROM auctions
         WHERE status = 'OPEN' AND lane = 'standard' AND id <> ALL (@passed_over::bigint[])
           AND original_end_at <= (SELECT clock_timestamp())),
        (SELECT min(start_at) FROM auctions WHERE status = 'SCHEDULED' AND id <> ALL (@passed_over::bigint[]))) - clock_timestamp()))
    * 1000)::bigint, @otherwise_milliseconds::bigint)::bigint AS wait_milliseconds;

-- name: AuctionsLive :many
-- AuctionsLive reads the public state of the auctions somebody watches, with the clock they were read at.
SELECT sqlc.embed(auctions), clock_timestamp()::timestamptz AS now
FROM unnest(@ids::bigint[]) AS wanted (id) JOIN auctions ON auctions.id = wanted.id;

-- name: AuctionVersions :many
-- AuctionVersions is the cheap question of the reconciler: which of the watched auctions stand otherwise than is known. The version alone
-- would not tell a state that somebody made up under a version which the database has given since.
SELECT auctions.id, auctions.version, auctions.current_price, auctions.leader_id, auctions.bid_count, auctions.status, auctions.end_at
FROM unnest(@ids::bigint[]) AS wanted (id) JOIN auctions ON auctions.id = wanted.id;

-- name: ListingsFollow :many
-- ListingsFollow brings the listings of auctions that bids have moved up to date, and returns those
-- it has looked at. It passes over rows that somebody else holds, which must be looked at again. It
-- waits for nobody, so that it cannot block a closer that changes the same rows in another order. A
-- listing never goes back to an older version.
WITH free AS MATERIALIZED (
    SELECT known.auction_id FROM listings known
    WHERE known.auction_id = ANY (@auction_ids::bigint[])
    FOR NO KEY UPDATE SKIP LOCKED
), moved AS (
    UPDATE listings
    SET end_at = auctions.end_at, nominal_price = auctions.nominal_price, version = auctions.version
    FROM free JOIN auctions ON auctions.id = free.auction_id
    WHERE listings.auction_id = free.auction_id AND listings.version < auctions.version
)
SELECT free.auction_id FROM free;

-- name: ListingsBehind :one
-- ListingsBehind looks at a stretch of the open auctions, from an id on. It returns the last id it
-- has seen (0 at the end), those whose listing is older than the auction, and those that have none.
WITH stretch AS (
    SELECT a.id, a.version FROM auctions a WHERE a.status = 'OPEN' AND a.id > @after_id ORDER BY a.id LIMIT @row_limit
)
SELECT COALESCE(max(stretch.id), 0)::bigint AS last_id,
    COALESCE(array_agg(stretch.id) FILTER (WHERE listings.version < stretch.version), '{}')::bigint[] AS behind,
    COALESCE(array_agg(stretch.id) FILTER (WHERE listings.auction_id IS NULL), '{}')::bigint[] AS missing
FROM stretch LEFT JOIN listings ON listings.auction_id = stretch.id;

-- name: ListingsInsertMissing :exec
-- ListingsInsertMissing lists auctions that somebody has added with the triggers switched off.
INSERT INTO listings (auction_id, status, end_at, nominal_price, version)
SELECT a.id, a.status, a.end_at, a.nominal_price, a.version FROM auctions a
WHERE a.id = ANY (@auction_ids::bigint[])
ON CONFLICT (auction_id) DO NOTHING;

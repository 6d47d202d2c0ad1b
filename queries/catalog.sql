-- name: CatalogOne :one
SELECT sqlc.embed(auctions), sqlc.embed(lots), users.name AS seller_name, clock_timestamp()::timestamptz AS now
FROM auctions JOIN lots ON lots.auction_id = auctions.id JOIN users ON users.id = auctions.seller_id
WHERE auctions.id = @id;

-- name: CatalogOpenByEnd :many
-- CatalogOpenByEnd lists open auctions, soonest end first, from a position on.
SELECT sqlc.embed(auctions), sqlc.embed(lots), clock_timestamp()::timestamptz AS now
FROM auctions JOIN lots ON lots.auction_id = auctions.id
WHERE auctions.status = 'OPEN'
  AND (auctions.end_at, auctions.id) > (@after_end_at::timestamptz, @after_id::bigint)
ORDER BY auctions.end_at, auctions.id
LIMIT @row_limit;

-- name: CatalogOpenByPrice :many
-- CatalogOpenByPrice lists open auctions, lowest figure first, from a position on.
SELECT sqlc.embed(auctions), sqlc.embed(lots), clock_timestamp()::timestamptz AS now
FROM auctions JOIN lots ON lots.auction_id = auctions.id
WHERE auctions.status = 'OPEN'
  AND (auctions.nominal_price, auctions.id) > (@after_price::bigint, @after_id::bigint)
ORDER BY auctions.nominal_price, auctions.id
LIMIT @row_limit;

-- name: CatalogStillByEnd :many
-- CatalogStillByEnd lists auctions that bids no longer or not yet move (one status other than OPEN), by end.
SELECT sqlc.embed(auctions), sqlc.embed(lots), clock_timestamp()::timestamptz AS now
FROM auctions JOIN lots ON lots.auction_id = auctions.id
WHERE auctions.status = @status AND auctions.status <> 'OPEN'
  AND (auctions.end_at, auctions.id) > (@after_end_at::timestamptz, @after_id::bigint)
ORDER BY auctions.end_at, auctions.id
LIMIT @row_limit;

-- name: CatalogStillByPrice :many
SELECT sqlc.embed(auctions), sqlc.embed(lots), clock_timestamp()::timestamptz AS now
FROM auctions JOIN lots ON lots.auction_id = auctions.id
WHERE auctions.status = @status AND auctions.status <> 'OPEN'
  AND (auctions.nominal_price, auctions.id) > (@after_price::bigint, @after_id::bigint)
ORDER BY auctions.nominal_price, auctions.id
LIMIT @row_limit;

-- name: CatalogByNewest :many
-- CatalogByNewest lists auctions of one status, newest first, from a position on.
SELECT sqlc.embed(auctions), sqlc.embed(lots), clock_timestamp()::timestamptz AS now
FROM auctions JOIN lots ON lots.auction_id = auctions.id
WHERE auctions.status = @status AND auctions.id < @before_id
ORDER BY auctions.id DESC
LIMIT @row_limit;

-- name: CatalogSearch :many
-- CatalogSearch lists what matches words, a seller, a status, or several of them; an argument that is null does not narrow.
-- The page is ordered by end, newest or figure; position is the last row of the page before it.
SELECT sqlc.embed(auctions), sqlc.embed(lots), clock_timestamp()::timestamptz AS now
FROM auctions JOIN lots ON lots.auction_id = auctions.id
WHERE (sqlc.narg(words)::text IS NULL OR lots.search @@ to_tsquery('simple', sqlc.narg(words)::text))
  AND (sqlc.narg(seller_id)::bigint IS NULL OR auctions.seller_id = sqlc.narg(seller_id)::bigint)
  AND (sqlc.narg(status)::text IS NULL OR auctions.status = sqlc.narg(status)::text)
  AND CASE @sort::text
        WHEN 'ending' THEN (auctions.end_at, auctions.id) > (@after_end_at::timestamptz, @after_id::bigint)
        WHEN 'price'  THEN (auctions.nominal_price, auctions.id) > (@after_price::bigint, @after_id::bigint)
        ELSE auctions.id < @before_id::bigint END
ORDER BY CASE WHEN @sort::text = 'ending' THEN auctions.end_at END,
         CASE WHEN @sort::text = 'price' THEN auctions.nominal_price END,
         CASE WHEN @sort::text = 'newest' THEN -auctions.id ELSE auctions.id END
LIMIT @row_limit;

-- name: CatalogMany :many
SELECT sqlc.embed(auctions), sqlc.embed(lots), clock_timestamp()::timestamptz AS now
FROM auctions JOIN lots ON lots.auction_id = auctions.id
WHERE auctions.id = ANY (@ids::bigint[]);

-- name: CatalogMyBids :many
-- CatalogMyBids lists the auctions a person has bid on, newest first, with that person's highest bid. It steps through the index
-- from one auction to the next, so that thousands of bids on one auction cost one probe.
WITH RECURSIVE mine AS (
    (SELECT b.auction_id, b.seq, b.amount FROM bids b
     WHERE b.bidder_id = @bidder_id AND b.auction_id < @before_id
     ORDER BY b.auction_id DESC, b.seq DESC LIMIT 1)
    UNION ALL
    SELECT step.auction_id, step.seq, step.amount
    FROM mine CROSS JOIN LATERAL (
        SELECT b.auction_id, b.seq, b.amount FROM bids b
        WHERE b.bidder_id = @bidder_id AND b.auction_id < mine.auction_id
        ORDER BY b.auction_id DESC, b.seq DESC LIMIT 1) AS step
)
SELECT sqlc.embed(auctions), sqlc.embed(lots), mine.amount AS my_amount, clock_timestamp()::timestamptz AS now
FROM (SELECT * FROM mine LIMIT @row_limit) AS mine
JOIN auctions ON auctions.id = mine.auction_id JOIN lots ON lots.auction_id = auctions.id
ORDER BY auctions.id DESC;

-- Every list is read in one shape (the auction, its words, its seller's name, the clock), so that one function turns any row of
-- them into what the house shows.

-- name: CatalogOne :one
SELECT sqlc.embed(auctions), lots.title, lots.description, users.name AS seller_name, clock_timestamp()::timestamptz AS now
FROM auctions JOIN lots ON lots.auction_id = auctions.id JOIN users ON users.id = auctions.seller_id
WHERE auctions.id = @id;

-- name: CatalogByEnd :many
-- CatalogByEnd lists auctions by end, soonest first, from a position on: the open ones if with_open, and those of the other statuses
-- asked for, which bids do not move. Each status has its own stretch of an index, and the page is the first of them all.
WITH page AS (
    (SELECT a.id, a.end_at FROM auctions a
     WHERE @with_open::boolean AND a.status = 'OPEN' AND (a.end_at, a.id) > (@after_end_at::timestamptz, @after_id::bigint)
     ORDER BY a.end_at, a.id LIMIT @row_limit)
    UNION ALL
    SELECT still.id, still.end_at
    FROM unnest(@still_statuses::text[]) AS wanted (status)
    CROSS JOIN LATERAL (
        SELECT a.id, a.end_at FROM auctions a
        WHERE a.status = wanted.status AND a.status <> 'OPEN' AND (a.end_at, a.id) > (@after_end_at::timestamptz, @after_id::bigint)
        ORDER BY a.end_at, a.id LIMIT @row_limit) AS still
)
SELECT sqlc.embed(auctions), lots.title, lots.description, users.name AS seller_name, clock_timestamp()::timestamptz AS now
FROM (SELECT page.id FROM page ORDER BY page.end_at, page.id LIMIT @row_limit) AS listed
JOIN auctions ON auctions.id = listed.id JOIN lots ON lots.auction_id = auctions.id JOIN users ON users.id = auctions.seller_id
ORDER BY auctions.end_at, auctions.id;

-- name: CatalogByPrice :many
-- CatalogByPrice is CatalogByEnd by the figure of the price, lowest first.
WITH page AS (
    (SELECT a.id, a.nominal_price FROM auctions a
     WHERE @with_open::boolean AND a.status = 'OPEN' AND (a.nominal_price, a.id) > (@after_price::bigint, @after_id::bigint)
     ORDER BY a.nominal_price, a.id LIMIT @row_limit)
    UNION ALL
    SELECT still.id, still.nominal_price
    FROM unnest(@still_statuses::text[]) AS wanted (status)
    CROSS JOIN LATERAL (
        SELECT a.id, a.nominal_price FROM auctions a
        WHERE a.status = wanted.status AND a.status <> 'OPEN' AND (a.nominal_price, a.id) > (@after_price::bigint, @after_id::bigint)
        ORDER BY a.nominal_price, a.id LIMIT @row_limit) AS still
)
SELECT sqlc.embed(auctions), lots.title, lots.description, users.name AS seller_name, clock_timestamp()::timestamptz AS now
FROM (SELECT page.id FROM page ORDER BY page.nominal_price, page.id LIMIT @row_limit) AS listed
JOIN auctions ON auctions.id = listed.id JOIN lots ON lots.auction_id = auctions.id JOIN users ON users.id = auctions.seller_id
ORDER BY auctions.nominal_price, auctions.id;

-- name: CatalogByNewest :many
-- CatalogByNewest lists auctions, newest first, from a position on: of one status, or all when it is null.
SELECT sqlc.embed(auctions), lots.title, lots.description, users.name AS seller_name, clock_timestamp()::timestamptz AS now
FROM auctions JOIN lots ON lots.auction_id = auctions.id JOIN users ON users.id = auctions.seller_id
WHERE (sqlc.narg(status)::text IS NULL OR auctions.status = sqlc.narg(status)::text) AND auctions.id < @before_id
ORDER BY auctions.id DESC
LIMIT @row_limit;

-- name: CatalogOfSeller :many
-- CatalogOfSeller lists one seller's auctions, newest first, from a position on: of one status, or all when it is null.
SELECT sqlc.embed(auctions), lots.title, lots.description, users.name AS seller_name, clock_timestamp()::timestamptz AS now
FROM auctions JOIN lots ON lots.auction_id = auctions.id JOIN users ON users.id = auctions.seller_id
WHERE auctions.seller_id = @seller_id
  AND (sqlc.narg(status)::text IS NULL OR auctions.status = sqlc.narg(status)::text) AND auctions.id < @before_id
ORDER BY auctions.id DESC
LIMIT @row_limit;

-- name: CatalogOfSellerBy :many
-- CatalogOfSellerBy is CatalogOfSeller in the order of end or figure; the position is the last row of the page before it. The page
-- is chosen among the seller's rows alone, and words are joined to what is shown.
WITH page AS MATERIALIZED (
    SELECT a.id, a.end_at, a.nominal_price FROM auctions a
    WHERE a.seller_id = @seller_id AND (sqlc.narg(status)::text IS NULL OR a.status = sqlc.narg(status)::text)
      AND CASE @sort::text
            WHEN 'price' THEN (a.nominal_price, a.id) > (@after_price::bigint, @after_id::bigint)
            ELSE (a.end_at, a.id) > (@after_end_at::timestamptz, @after_id::bigint) END
    ORDER BY CASE WHEN @sort::text = 'ending' THEN a.end_at END, CASE WHEN @sort::text = 'price' THEN a.nominal_price END, a.id
    LIMIT @row_limit
)
SELECT sqlc.embed(auctions), lots.title, lots.description, users.name AS seller_name, clock_timestamp()::timestamptz AS now
FROM page JOIN auctions ON auctions.id = page.id JOIN lots ON lots.auction_id = auctions.id JOIN users ON users.id = auctions.seller_id
ORDER BY CASE WHEN @sort::text = 'ending' THEN page.end_at END, CASE WHEN @sort::text = 'price' THEN page.nominal_price END, page.id;

-- name: CatalogSearch :many
-- CatalogSearch lists what matches words, and a seller or status unless that is null, by end, newest or figure. The position is
-- the last row of the page before it.
WITH page AS MATERIALIZED (
    SELECT a.id, a.end_at, a.nominal_price
    FROM lots JOIN auctions a ON a.id = lots.auction_id
    WHERE lots.search @@ to_tsquery('simple', @words::text)
      AND (sqlc.narg(seller_id)::bigint IS NULL OR a.seller_id = sqlc.narg(seller_id)::bigint)
      AND (sqlc.narg(status)::text IS NULL OR a.status = sqlc.narg(status)::text)
      AND CASE @sort::text
            WHEN 'ending' THEN (a.end_at, a.id) > (@after_end_at::timestamptz, @after_id::bigint)
            WHEN 'price'  THEN (a.nominal_price, a.id) > (@after_price::bigint, @after_id::bigint)
            ELSE a.id < @before_id::bigint END
    ORDER BY CASE WHEN @sort::text = 'ending' THEN a.end_at END,
             CASE WHEN @sort::text = 'price' THEN a.nominal_price END,
             CASE WHEN @sort::text = 'newest' THEN -a.id ELSE a.id END
    LIMIT @row_limit
)
SELECT sqlc.embed(auctions), lots.title, lots.description, users.name AS seller_name, clock_timestamp()::timestamptz AS now
FROM page JOIN auctions ON auctions.id = page.id JOIN lots ON lots.auction_id = auctions.id JOIN users ON users.id = auctions.seller_id
ORDER BY CASE WHEN @sort::text = 'ending' THEN page.end_at END,
         CASE WHEN @sort::text = 'price' THEN page.nominal_price END,
         CASE WHEN @sort::text = 'newest' THEN -page.id ELSE page.id END;

-- name: CatalogSearchWithin :exec
-- CatalogSearchWithin bounds each statement of the transaction it is sent in. The server gives up by itself, so that the connection
-- stays good.
SELECT set_config('statement_timeout', @milliseconds::text, true);

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
SELECT sqlc.embed(auctions), lots.title, lots.description, users.name AS seller_name, clock_timestamp()::timestamptz AS now,
    mine.amount AS my_amount
FROM (SELECT * FROM mine LIMIT @row_limit) AS mine
JOIN auctions ON auctions.id = mine.auction_id JOIN lots ON lots.auction_id = auctions.id JOIN users ON users.id = auctions.seller_id
ORDER BY auctions.id DESC;

-- name: CatalogCurrency :one
-- CatalogCurrency is what it takes to read an auction's bids: the currency they are in, and that there is such an auction.
SELECT currency FROM auctions WHERE id = @id;

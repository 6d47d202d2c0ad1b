-- Every list is read in one shape (the auction, its words, its seller's name, the clock), so that one function turns any row of
-- them into what the house shows.

-- name: CatalogOne :one
SELECT sqlc.embed(auctions), lots.title, lots.description, COALESCE(users.seller_name, '') AS seller_name, users.selling_since, clock_timestamp()::timestamptz AS now
FROM auctions JOIN lots ON lots.auction_id = auctions.id JOIN users ON users.id = auctions.seller_id
WHERE auctions.id = @id;

-- name: CatalogByEnd :many
-- CatalogByEnd lists what is not over by end, soonest first, from a position on: the open auctions if
-- with_open, and the scheduled ones if with_scheduled. Each status has its own stretch of an index, and
-- the page is the first of both. The order is that of the listings, which bids move within a second;
-- what is shown is the auctions'.
WITH page AS (
    (SELECT l.* FROM listings l
     WHERE @with_open::boolean AND l.status = 'OPEN' AND (l.end_at, l.auction_id) > (@after_end_at::timestamptz, @after_id::bigint)
     ORDER BY l.end_at, l.auction_id LIMIT @row_limit)
    UNION ALL
    (SELECT l.* FROM listings l
     WHERE @with_scheduled::boolean AND l.status = 'SCHEDULED'
       AND (l.end_at, l.auction_id) > (@after_end_at::timestamptz, @after_id::bigint)
     ORDER BY l.end_at, l.auction_id LIMIT @row_limit)
)
SELECT sqlc.embed(auctions), lots.title, lots.description, COALESCE(users.seller_name, '') AS seller_name, users.selling_since,
    clock_timestamp()::timestamptz AS now, listed.end_at AS listed_end_at, listed.nominal_price AS listed_price
FROM (SELECT page.* FROM page ORDER BY page.end_at, page.auction_id LIMIT @row_limit) AS listed
JOIN auctions ON auctions.id = listed.auction_id JOIN lots ON lots.auction_id = auctions.id JOIN users ON users.id = auctions.seller_id
ORDER BY listed.end_at, listed.auction_id;

-- name: CatalogByEndOver :many
-- CatalogByEndOver lists what is over by end, latest first, from a position on, of the statuses asked for.
WITH page AS (
    SELECT over.*
    FROM unnest(@statuses::text[]) AS wanted (status)
    CROSS JOIN LATERAL (
        SELECT l.* FROM listings l
        WHERE l.status = wanted.status AND l.status <> 'OPEN'
          AND (l.end_at, l.auction_id) < (@before_end_at::timestamptz, @before_id::bigint)
        ORDER BY l.end_at DESC, l.auction_id DESC LIMIT @row_limit) AS over
)
SELECT sqlc.embed(auctions), lots.title, lots.description, COALESCE(users.seller_name, '') AS seller_name, users.selling_since,
    clock_timestamp()::timestamptz AS now, listed.end_at AS listed_end_at, listed.nominal_price AS listed_price
FROM (SELECT page.* FROM page ORDER BY page.end_at DESC, page.auction_id DESC LIMIT @row_limit) AS listed
JOIN auctions ON auctions.id = listed.auction_id JOIN lots ON lots.auction_id = auctions.id JOIN users ON users.id = auctions.seller_id
ORDER BY listed.end_at DESC, listed.auction_id DESC;

-- name: CatalogByPrice :many
-- CatalogByPrice lists auctions by the figure of the price, lowest first, from a position on: the open
-- ones if with_open, and those of the other statuses asked for, which bids do not move.
WITH page AS (
    (SELECT l.* FROM listings l
     WHERE @with_open::boolean AND l.status = 'OPEN' AND (l.nominal_price, l.auction_id) > (@after_price::bigint, @after_id::bigint)
     ORDER BY l.nominal_price, l.auction_id LIMIT @row_limit)
    UNION ALL
    SELECT still.*
    FROM unnest(@still_statuses::text[]) AS wanted (status)
    CROSS JOIN LATERAL (
        SELECT l.* FROM listings l
        WHERE l.status = wanted.status AND l.status <> 'OPEN'
          AND (l.nominal_price, l.auction_id) > (@after_price::bigint, @after_id::bigint)
        ORDER BY l.nominal_price, l.auction_id LIMIT @row_limit) AS still
)
SELECT sqlc.embed(auctions), lots.title, lots.description, COALESCE(users.seller_name, '') AS seller_name, users.selling_since,
    clock_timestamp()::timestamptz AS now, listed.end_at AS listed_end_at, listed.nominal_price AS listed_price
FROM (SELECT page.* FROM page ORDER BY page.nominal_price, page.auction_id LIMIT @row_limit) AS listed
JOIN auctions ON auctions.id = listed.auction_id JOIN lots ON lots.auction_id = auctions.id JOIN users ON users.id = auctions.seller_id
ORDER BY listed.nominal_price, listed.auction_id;

-- name: CatalogByNewest :many
-- CatalogByNewest lists auctions, newest first, from a position on: of one status, or all when it is null.
SELECT sqlc.embed(auctions), lots.title, lots.description, COALESCE(users.seller_name, '') AS seller_name, users.selling_since, clock_timestamp()::timestamptz AS now
FROM auctions JOIN lots ON lots.auction_id = auctions.id JOIN users ON users.id = auctions.seller_id
WHERE (sqlc.narg(status)::text IS NULL OR auctions.status = sqlc.narg(status)::text) AND auctions.id < @before_id
ORDER BY auctions.id DESC
LIMIT @row_limit;

-- name: CatalogOfSeller :many
-- CatalogOfSeller lists one seller's auctions, newest first, from a position on: of one status, or all when it is null.
SELECT sqlc.embed(auctions), lots.title, lots.description, COALESCE(users.seller_name, '') AS seller_name, users.selling_since, clock_timestamp()::timestamptz AS now
FROM auctions JOIN lots ON lots.auction_id = auctions.id JOIN users ON users.id = auctions.seller_id
WHERE auctions.seller_id = @seller_id
  AND (sqlc.narg(status)::text IS NULL OR auctions.status = sqlc.narg(status)::text) AND auctions.id < @before_id
ORDER BY auctions.id DESC
LIMIT @row_limit;

-- name: CatalogOfSellerBy :many
-- CatalogOfSellerBy is CatalogOfSeller in the order of end or figure. The position is the last row of the page before it, as the three
-- figures that rows are ordered by: what is over comes last in the order of end, the latest first. The page is chosen among the seller's
-- rows alone, and words are joined to what is shown.
WITH mine AS (
    SELECT a.id, a.end_at, a.nominal_price, @sort::text = 'ending' AND a.status IN ('CLOSED', 'CANCELLED') AS is_over
    FROM auctions a
    WHERE a.seller_id = @seller_id AND (sqlc.narg(status)::text IS NULL OR a.status = sqlc.narg(status)::text)
), placed AS (
    SELECT mine.id, mine.is_over,
        CASE WHEN @sort::text = 'price' THEN mine.nominal_price
             ELSE (extract(epoch FROM mine.end_at) * 1000000)::bigint * CASE WHEN mine.is_over THEN -1 ELSE 1 END END AS place,
        CASE WHEN mine.is_over THEN -mine.id ELSE mine.id END AS tie
    FROM mine
), page AS MATERIALIZED (
    SELECT * FROM placed
    WHERE (placed.is_over, placed.place, placed.tie) > (@after_over::boolean, @after_place::bigint, @after_tie::bigint)
    ORDER BY placed.is_over, placed.place, placed.tie
    LIMIT @row_limit
)
SELECT sqlc.embed(auctions), lots.title, lots.description, COALESCE(users.seller_name, '') AS seller_name, users.selling_since, clock_timestamp()::timestamptz AS now
FROM page JOIN auctions ON auctions.id = page.id JOIN lots ON lots.auction_id = auctions.id JOIN users ON users.id = auctions.seller_id
ORDER BY page.is_over, page.place, page.tie;

-- name: CatalogSearch :many
-- CatalogSearch lists what matches words, and a seller or status unless that is null, by end, newest or figure, without one auction that
-- is shown otherwise. The position is that of CatalogOfSellerBy.
WITH matching AS (
    SELECT a.id, a.end_at, a.nominal_price, @sort::text = 'ending' AND a.status IN ('CLOSED', 'CANCELLED') AS is_over
    FROM lots JOIN auctions a ON a.id = lots.auction_id
    WHERE lots.words @@ lot_query(@words::text[])
      AND (sqlc.narg(seller_id)::bigint IS NULL OR a.seller_id = sqlc.narg(seller_id)::bigint)
      AND (sqlc.narg(status)::text IS NULL OR a.status = sqlc.narg(status)::text)
      AND a.id <> @except_id::bigint
), placed AS (
    SELECT matching.id, matching.is_over,
        CASE @sort::text WHEN 'price' THEN matching.nominal_price WHEN 'newest' THEN -matching.id
             ELSE (extract(epoch FROM matching.end_at) * 1000000)::bigint * CASE WHEN matching.is_over THEN -1 ELSE 1 END END AS place,
        CASE WHEN matching.is_over THEN -matching.id ELSE matching.id END AS tie
    FROM matching
), page AS MATERIALIZED (
    SELECT * FROM placed
    WHERE (placed.is_over, placed.place, placed.tie) > (@after_over::boolean, @after_place::bigint, @after_tie::bigint)
    ORDER BY placed.is_over, placed.place, placed.tie
    LIMIT @row_limit
)
SELECT sqlc.embed(auctions), lots.title, lots.description, COALESCE(users.seller_name, '') AS seller_name, users.selling_since, clock_timestamp()::timestamptz AS now
FROM page JOIN auctions ON auctions.id = page.id JOIN lots ON lots.auction_id = auctions.id JOIN users ON users.id = auctions.seller_id
ORDER BY page.is_over, page.place, page.tie;

-- name: CatalogSearchCounts :many
-- CatalogSearchCounts is how many auctions of each status match words, and a seller unless that is null. It counts to a limit.
SELECT matching.status, count(*) AS auctions
FROM (
    SELECT a.status FROM lots JOIN auctions a ON a.id = lots.auction_id
    WHERE lots.words @@ lot_query(@words::text[]) AND (sqlc.narg(seller_id)::bigint IS NULL OR a.seller_id = sqlc.narg(seller_id)::bigint)
    LIMIT @count_limit) AS matching
GROUP BY matching.status;

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
SELECT sqlc.embed(auctions), lots.title, lots.description, COALESCE(users.seller_name, '') AS seller_name, users.selling_since, clock_timestamp()::timestamptz AS now,
    mine.amount AS my_amount
FROM (SELECT * FROM mine LIMIT @row_limit) AS mine
JOIN auctions ON auctions.id = mine.auction_id JOIN lots ON lots.auction_id = auctions.id JOIN users ON users.id = auctions.seller_id
ORDER BY auctions.id DESC;

-- name: CatalogCurrency :one
-- CatalogCurrency is what it takes to read an auction's bids: the currency they are in, and that there is such an auction.
SELECT currency, currency_digits FROM auctions WHERE id = @id;

-- name: CatalogSeller :one
-- CatalogSeller is how a seller is shown. It begins at the auctions, so that whoever has none is no row, like whoever does not exist,
-- and is found out as fast.
SELECT COALESCE(users.seller_name, '') AS seller_name, users.selling_since
FROM auctions JOIN users ON users.id = auctions.seller_id
WHERE auctions.seller_id = @seller_id
LIMIT 1;

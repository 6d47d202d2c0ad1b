-- name: WritesTaken :exec
-- WritesTaken asks for everything that taking a bid asks of PostgreSQL (a server that takes writes,
-- the tables, the right to change them), but for a row of its own: it changes none.
WITH moved AS (
    UPDATE auctions SET version = version + 1 WHERE false RETURNING auctions.id
), told AS (
    INSERT INTO outbox (topic, auction_id) SELECT 'auction-closed', moved.id FROM moved
)
INSERT INTO bids (auction_id, seq, bidder_id, paddle, amount, request_id, accepted_at)
SELECT moved.id, 1, 1, 1, 1, gen_random_uuid(), clock_timestamp() FROM moved;

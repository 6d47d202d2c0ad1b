-- name: OutboxRelayLock :one
-- OutboxRelayLock makes one relay at a time the teller, so that each auction's events leave in
-- order. The lock ends with the transaction, also when its node dies.
SELECT pg_try_advisory_xact_lock(@key);

-- name: OutboxHead :many
-- OutboxHead are a topic's oldest rows not told yet, without those of the auctions set aside. A
-- row's id is drawn under its auction's row lock, so an auction's rows are in order.
SELECT id, topic, auction_id, first_seq, last_seq FROM outbox
WHERE topic = @topic AND auction_id <> ALL (@set_aside::bigint[])
ORDER BY id
LIMIT @row_limit;

-- name: OutboxDelete :execrows
DELETE FROM outbox WHERE topic = @topic AND id = ANY (@ids::bigint[]);

-- name: OutboxBacklog :one
-- OutboxBacklog says how many rows of a topic wait and how old the oldest is.
SELECT count(*) AS waiting, COALESCE(EXTRACT(EPOCH FROM clock_timestamp() - min(created_at)), 0)::double precision AS oldest_seconds
FROM (SELECT created_at FROM outbox WHERE topic = @topic ORDER BY id LIMIT @row_limit) AS head;

-- name: OutboxBids :many
-- OutboxBids reads the bids that several event rows point at. OFFSET 0 keeps the subquery whole,
-- which makes it one range of the index for each row: a join reads every bid of the auction
-- instead.
SELECT sqlc.embed(bids)
FROM (SELECT unnest(@auction_ids::bigint[]) AS auction_id, unnest(@first_seqs::bigint[]) AS first_seq,
    unnest(@last_seqs::bigint[]) AS last_seq) AS wanted
CROSS JOIN LATERAL (
    SELECT * FROM bids b
    WHERE b.auction_id = wanted.auction_id AND b.seq BETWEEN wanted.first_seq AND wanted.last_seq
    OFFSET 0
) AS bids;

-- name: OutboxAuctions :many
SELECT * FROM auctions WHERE id = ANY (@ids::bigint[]);

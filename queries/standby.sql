-- name: StandbyWait :one
-- StandbyWait makes the COMMIT of a transaction that only reads wait like one that writes: until
-- what it has read is on the synchronous standby too, where there is one. A commit that gave up
-- waiting has left its rows visible on the primary alone. The message means nothing and is read by
-- nobody; it is there so that the transaction has something to commit.
SELECT (pg_logical_emit_message(true, 'martelo', '') IS NOT NULL)::boolean AS written;

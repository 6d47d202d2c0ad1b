-- name: TransactionOldest :one
-- TransactionOldest tells whose transaction on this database has been open for the longest,
-- migrations apart.
SELECT pid::integer AS pid, application_name::text AS application_name, EXTRACT(EPOCH FROM clock_timestamp() - xact_start)::bigint AS seconds
FROM pg_catalog.pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL AND application_name <> 'martelo migrate'
ORDER BY xact_start
LIMIT 1;

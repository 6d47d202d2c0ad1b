-- name: HouseIdentity :one
-- HouseIdentity is which house this is, and the database that it is kept in as its name tells.
SELECT id, unnamed_epochs, (current_database() || '/' || current_schema())::text AS database_name FROM house;

-- name: HouseSystem :one
-- HouseSystem tells PostgreSQL's installations apart. A standby has it from its primary; a restored dump is in another one.
SELECT system_identifier::text FROM pg_control_system();

-- name: HouseRenew :one
-- HouseRenew makes another house of a copy. Auctions that Redis decided go on from what PostgreSQL has of them.
UPDATE house SET id = gen_random_uuid(), unnamed_epochs = 0, created_at = clock_timestamp() RETURNING id;

-- name: HouseNodes :one
-- HouseNodes counts the other connections that programs of the house have to its database.
SELECT count(*) FROM pg_catalog.pg_stat_activity
WHERE datname = current_database() AND application_name = 'martelo' AND pid <> pg_backend_pid();

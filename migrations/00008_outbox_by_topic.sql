-- +goose Up

-- Each topic is read by itself, so that one whose consumers are away does not hold the others back
-- behind its own rows. The table is empty but for what waits to be told, so the index is made in a
-- moment.
ALTER TABLE outbox DROP CONSTRAINT outbox_pkey, ADD CONSTRAINT outbox_pkey PRIMARY KEY (topic, id);

-- +goose Down
ALTER TABLE outbox DROP CONSTRAINT outbox_pkey, ADD CONSTRAINT outbox_pkey PRIMARY KEY (id);

-- +goose Up

-- The house's identity. What nodes say and keep in Redis, and the events they tell, carries it, so that two houses beside one Redis
-- or one Kafka are told apart, and a new house from what an old one left there.
--
-- Epochs up to unnamed_epochs are from before there was an identity: the Redis keys of their auctions do not carry it.
CREATE TABLE house (
    single         boolean     NOT NULL DEFAULT true,
    id             uuid        NOT NULL DEFAULT gen_random_uuid(),
    unnamed_epochs bigint      NOT NULL DEFAULT 0,
    created_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT house_pkey PRIMARY KEY (single),
    CONSTRAINT house_is_single CHECK (single),
    CONSTRAINT house_unnamed_epochs_range CHECK (unnamed_epochs >= 0)
);
CREATE TRIGGER house_stays BEFORE DELETE OR TRUNCATE ON house FOR EACH STATEMENT
    EXECUTE FUNCTION refuse_change('a house keeps its identity; martelo house renew gives it another');

-- The sequence has a new name so that a node of an older release, which knows nothing of the identity, loads no more auctions into
-- Redis under names that newer nodes do not look for. Both decide under the epochs given before. Renamed first: it waits for whoever
-- is drawing an epoch.
ALTER SEQUENCE auction_lane_epochs RENAME TO auction_hot_epochs;
INSERT INTO house (unnamed_epochs) SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM auction_hot_epochs;

-- +goose Down
ALTER SEQUENCE auction_hot_epochs RENAME TO auction_lane_epochs;
DROP TABLE house;

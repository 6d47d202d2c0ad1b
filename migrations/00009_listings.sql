-- +goose NO TRANSACTION
-- Lists get a row of their own for each auction, so that a bid touches no index that a list wants: then
-- PostgreSQL can change an auction within its page (a heap-only tuple), and writes no index at all.
-- Every statement may be repeated, should the migration break off.
--
-- Nodes of the version before go on while it runs and after it. Their lists and their closer read the
-- whole table then, which is slower and right, until they are replaced.

-- +goose Up

-- What lists are ordered by. What they show comes from auctions. A status is here in the transaction
-- that changes it, by the triggers below. Ends and prices that bids move follow within a second
-- (app/listing). The version is that of the auction's row which this one was made from.
CREATE TABLE IF NOT EXISTS listings (
    auction_id    bigint      NOT NULL,
    status        text        NOT NULL,
    end_at        timestamptz NOT NULL,
    nominal_price bigint      NOT NULL,
    version       bigint      NOT NULL,
    CONSTRAINT listings_pkey PRIMARY KEY (auction_id)
);
CREATE INDEX IF NOT EXISTS listings_open_end_idx ON listings (end_at, auction_id) WHERE status = 'OPEN';
CREATE INDEX IF NOT EXISTS listings_open_price_idx ON listings (nominal_price, auction_id) WHERE status = 'OPEN';
CREATE INDEX IF NOT EXISTS listings_still_end_idx ON listings (status, end_at, auction_id) WHERE status <> 'OPEN';
CREATE INDEX IF NOT EXISTS listings_still_price_idx ON listings (status, nominal_price, auction_id) WHERE status <> 'OPEN';

-- Whoever may open auctions may list them: nodes of the version before must go on under the role they
-- have, until martelo grant is run again.
-- +goose StatementBegin
DO $$
DECLARE
    may text;
BEGIN
    FOR may IN SELECT DISTINCT grantee FROM information_schema.role_table_grants
        WHERE table_schema = current_schema() AND table_name = 'auctions' AND privilege_type = 'INSERT'
    LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE ON listings TO %s',
            CASE may WHEN 'PUBLIC' THEN may ELSE quote_ident(may) END);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- Statements that change the status of many auctions write their listings themselves, all in one go,
-- which takes a tenth less of PostgreSQL's time. The triggers see to it that no other statement
-- forgets them.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION listings_follow_status() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    listed bigint := (SELECT version FROM listings WHERE auction_id = NEW.id);
BEGIN
    IF listed >= NEW.version THEN
        RETURN NULL;
    END IF;
    INSERT INTO listings AS known (auction_id, status, end_at, nominal_price, version)
    VALUES (NEW.id, NEW.status, NEW.end_at, NEW.nominal_price, NEW.version)
    ON CONFLICT (auction_id) DO UPDATE
    SET status = EXCLUDED.status, end_at = EXCLUDED.end_at, nominal_price = EXCLUDED.nominal_price,
        version = EXCLUDED.version
    WHERE known.version < EXCLUDED.version;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE OR REPLACE TRIGGER auctions_are_listed AFTER INSERT ON auctions FOR EACH ROW
    EXECUTE FUNCTION listings_follow_status();
CREATE OR REPLACE TRIGGER auctions_change_lists AFTER UPDATE OF status ON auctions FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status)
    EXECUTE FUNCTION listings_follow_status();

-- +goose StatementBegin
DO $$
DECLARE
    last_id bigint := 0;
BEGIN
    LOOP
        WITH batch AS (SELECT * FROM auctions WHERE id > last_id ORDER BY id LIMIT 1000),
        listed AS (INSERT INTO listings (auction_id, status, end_at, nominal_price, version)
            SELECT id, status, end_at, nominal_price, version FROM batch
            ON CONFLICT (auction_id) DO NOTHING)
        SELECT max(id) INTO last_id FROM batch;
        EXIT WHEN last_id IS NULL;
        COMMIT;
    END LOOP;
END
$$;
-- +goose StatementEnd

-- What may be due. Bids move the end and never the original one, which is never later.
DROP INDEX CONCURRENTLY IF EXISTS auctions_due_idx;
CREATE INDEX CONCURRENTLY auctions_due_idx ON auctions (original_end_at, id) WHERE status = 'OPEN';

DROP INDEX CONCURRENTLY IF EXISTS auctions_hot_due_idx;
CREATE INDEX CONCURRENTLY auctions_hot_due_idx ON auctions (original_end_at, id) WHERE status = 'OPEN' AND lane = 'hot';

DROP INDEX CONCURRENTLY IF EXISTS auctions_open_end_idx;
DROP INDEX CONCURRENTLY IF EXISTS auctions_hot_end_idx;
DROP INDEX CONCURRENTLY IF EXISTS auctions_open_price_idx;
DROP INDEX CONCURRENTLY IF EXISTS auctions_still_end_idx;
DROP INDEX CONCURRENTLY IF EXISTS auctions_still_price_idx;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS auctions_open_end_idx;
DROP INDEX CONCURRENTLY IF EXISTS auctions_hot_end_idx;
DROP INDEX CONCURRENTLY IF EXISTS auctions_open_price_idx;
DROP INDEX CONCURRENTLY IF EXISTS auctions_still_end_idx;
DROP INDEX CONCURRENTLY IF EXISTS auctions_still_price_idx;
CREATE INDEX CONCURRENTLY auctions_open_end_idx ON auctions (end_at, id) WHERE status = 'OPEN';
CREATE INDEX CONCURRENTLY auctions_hot_end_idx ON auctions (end_at, id) WHERE status = 'OPEN' AND lane = 'hot';
CREATE INDEX CONCURRENTLY auctions_open_price_idx ON auctions (nominal_price, id) WHERE status = 'OPEN';
CREATE INDEX CONCURRENTLY auctions_still_end_idx ON auctions (status, end_at, id) WHERE status <> 'OPEN';
CREATE INDEX CONCURRENTLY auctions_still_price_idx ON auctions (status, nominal_price, id) WHERE status <> 'OPEN';
DROP INDEX CONCURRENTLY IF EXISTS auctions_due_idx;
DROP INDEX CONCURRENTLY IF EXISTS auctions_hot_due_idx;
DROP TRIGGER IF EXISTS auctions_change_lists ON auctions;
DROP TRIGGER IF EXISTS auctions_are_listed ON auctions;
DROP FUNCTION IF EXISTS listings_follow_status;
DROP TABLE IF EXISTS listings;

-- +goose Up

-- What a seller is called where lots are shown. It is not the person's name, which only the person sees; without one the number is shown.
ALTER TABLE users ADD COLUMN seller_name text;
ALTER TABLE users ADD COLUMN selling_since timestamptz;
-- Sessions hold the value they began under, and end when it rises.
ALTER TABLE users ADD COLUMN session_epoch bigint NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN blocked_at timestamptz;
ALTER TABLE users ADD CONSTRAINT users_seller_name_length CHECK (char_length(seller_name) BETWEEN 1 AND 100);
ALTER TABLE users ADD CONSTRAINT users_session_epoch_range CHECK (session_epoch >= 0);

-- Who sells already is known to buyers by the name that has been shown until now.
UPDATE users SET
    seller_name = name,
    selling_since = COALESCE((SELECT min(auctions.created_at) FROM auctions WHERE auctions.seller_id = users.id), created_at)
WHERE role = 'seller' OR EXISTS (SELECT FROM auctions WHERE auctions.seller_id = users.id);

-- Browsers in which a person has signed in before. A stranger who guesses passwords elsewhere does not hold these up.
CREATE TABLE devices (
    user_id      bigint      NOT NULL,
    hash         bytea       NOT NULL,
    last_used_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT devices_pkey PRIMARY KEY (user_id, hash),
    CONSTRAINT devices_hash_sha256 CHECK (octet_length(hash) = 32),
    CONSTRAINT devices_user_fkey FOREIGN KEY (user_id) REFERENCES users (id)
);
CREATE INDEX devices_hash_idx ON devices (hash);

-- Rows that other rows name for ever are not removed, whole tables neither. The log is guarded row by row as well, since triggers for
-- each statement do not run where tables are distributed over several servers.
CREATE TRIGGER users_stay_all BEFORE TRUNCATE ON users FOR EACH STATEMENT
    EXECUTE FUNCTION refuse_change('bids name users for ever');
CREATE TRIGGER auctions_stay_all BEFORE TRUNCATE ON auctions FOR EACH STATEMENT
    EXECUTE FUNCTION refuse_change('an auction is never deleted');
CREATE TRIGGER lots_stay BEFORE DELETE ON lots FOR EACH ROW
    EXECUTE FUNCTION refuse_change('an auction is never deleted, nor are its words');
CREATE TRIGGER lots_stay_all BEFORE TRUNCATE ON lots FOR EACH STATEMENT
    EXECUTE FUNCTION refuse_change('an auction is never deleted, nor are its words');
DROP TRIGGER bids_append_only ON bids;
CREATE TRIGGER bids_append_only BEFORE UPDATE OR DELETE ON bids FOR EACH ROW
    EXECUTE FUNCTION refuse_change('the bid log is append-only');
CREATE TRIGGER bids_stay_all BEFORE TRUNCATE ON bids FOR EACH STATEMENT
    EXECUTE FUNCTION refuse_change('the bid log is append-only');
CREATE TRIGGER outbox_stay_all BEFORE TRUNCATE ON outbox FOR EACH STATEMENT
    EXECUTE FUNCTION refuse_change('an event goes only when it has been told');

-- +goose Down
DROP TRIGGER outbox_stay_all ON outbox;
DROP TRIGGER bids_stay_all ON bids;
DROP TRIGGER bids_append_only ON bids;
CREATE TRIGGER bids_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON bids FOR EACH STATEMENT
    EXECUTE FUNCTION refuse_change('the bid log is append-only');
DROP TRIGGER lots_stay_all ON lots;
DROP TRIGGER lots_stay ON lots;
DROP TRIGGER auctions_stay_all ON auctions;
DROP TRIGGER users_stay_all ON users;
DROP TABLE devices;
ALTER TABLE users DROP COLUMN blocked_at, DROP COLUMN session_epoch, DROP COLUMN selling_since, DROP COLUMN seller_name;

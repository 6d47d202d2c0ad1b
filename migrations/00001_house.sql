-- +goose Up

-- Money is a whole number of the currency's minor units (cents, fils; yen have none), never a fraction:
-- the largest amount, 12 digits before the point and 4 after it, stays below 10^16.

CREATE TABLE users (
    id            bigint GENERATED ALWAYS AS IDENTITY,
    email         text,
    name          text        NOT NULL,
    password_hash text,
    role          text        NOT NULL DEFAULT 'user',
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT users_pkey PRIMARY KEY (id),
    CONSTRAINT users_email_length CHECK (char_length(email) BETWEEN 3 AND 254),
    CONSTRAINT users_name_length CHECK (char_length(name) BETWEEN 1 AND 100),
    CONSTRAINT users_role_known CHECK (role IN ('user', 'seller', 'admin')),
    -- Somebody who signs in has both; a bidder kept by a marketplace's own system has neither.
    CONSTRAINT users_password_with_email CHECK ((email IS NULL) = (password_hash IS NULL))
);
CREATE UNIQUE INDEX users_email_key ON users (lower(email));

CREATE TABLE tokens (
    id         bigint GENERATED ALWAYS AS IDENTITY,
    user_id    bigint      NOT NULL,
    name       text        NOT NULL DEFAULT '',
    hash       bytea       NOT NULL,
    service    boolean     NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT tokens_pkey PRIMARY KEY (id),
    CONSTRAINT tokens_hash_key UNIQUE (hash),
    CONSTRAINT tokens_hash_sha256 CHECK (octet_length(hash) = 32),
    CONSTRAINT tokens_name_length CHECK (char_length(name) <= 100),
    CONSTRAINT tokens_user_fkey FOREIGN KEY (user_id) REFERENCES users (id)
);
CREATE INDEX tokens_user_idx ON tokens (user_id);

-- The table scs keeps browser sessions in; its column names are that library's.
CREATE TABLE sessions (
    token  text        NOT NULL,
    data   bytea       NOT NULL,
    expiry timestamptz NOT NULL,
    CONSTRAINT sessions_pkey PRIMARY KEY (token)
);
CREATE INDEX sessions_expiry_idx ON sessions (expiry);

-- What a bid reads and writes. Words and search live in lots, so that this row stays narrow
-- and a bid never touches a text index.
CREATE TABLE auctions (
    id                         bigint GENERATED ALWAYS AS IDENTITY,
    seller_id                  bigint      NOT NULL,
    currency                   text        NOT NULL,
    currency_digits            smallint    NOT NULL,
    start_price                bigint      NOT NULL,
    min_increment              bigint      NOT NULL,
    current_price              bigint      NOT NULL,
    leader_id                  bigint,
    leader_paddle              integer,
    bid_count                  bigint      NOT NULL DEFAULT 0,
    bidder_count               integer     NOT NULL DEFAULT 0,
    status                     text        NOT NULL,
    lane                       text        NOT NULL DEFAULT 'standard',
    soft_close_window_seconds  integer     NOT NULL DEFAULT 120,
    soft_close_extend_seconds  integer     NOT NULL DEFAULT 120,
    start_at                   timestamptz NOT NULL,
    end_at                     timestamptz NOT NULL,
    original_end_at            timestamptz NOT NULL,
    closed_at                  timestamptz,
    created_at                 timestamptz NOT NULL DEFAULT clock_timestamp(),
    version                    bigint      NOT NULL DEFAULT 1,
    request_id                 uuid,
    -- The price in ten-thousandths of the currency's unit, so that lists can be sorted across currencies by figure.
    nominal_price              bigint      NOT NULL GENERATED ALWAYS AS (
        current_price * CASE currency_digits WHEN 0 THEN 10000 WHEN 1 THEN 1000 WHEN 2 THEN 100 WHEN 3 THEN 10 ELSE 1 END) STORED,
    CONSTRAINT auctions_pkey PRIMARY KEY (id),
    CONSTRAINT auctions_seller_fkey FOREIGN KEY (seller_id) REFERENCES users (id),
    CONSTRAINT auctions_leader_fkey FOREIGN KEY (leader_id) REFERENCES users (id),
    CONSTRAINT auctions_seller_request_key UNIQUE (seller_id, request_id),
    CONSTRAINT auctions_currency_code CHECK (currency ~ '^[A-Z]{3}$'),
    CONSTRAINT auctions_currency_digits CHECK (currency_digits BETWEEN 0 AND 4),
    CONSTRAINT auctions_start_price_range CHECK (start_price >= 0 AND start_price < 10000000000000000),
    CONSTRAINT auctions_min_increment_range CHECK (min_increment > 0 AND min_increment < 10000000000000000),
    CONSTRAINT auctions_price_from_start CHECK (current_price >= start_price AND current_price < 10000000000000000),
    CONSTRAINT auctions_price_moved_by_bids CHECK (
        CASE WHEN bid_count = 0 THEN current_price = start_price
             ELSE current_price >= start_price + min_increment END),
    CONSTRAINT auctions_leader_with_bids CHECK (
        bid_count >= 0 AND (leader_id IS NULL) = (bid_count = 0) AND (leader_paddle IS NULL) = (bid_count = 0)),
    CONSTRAINT auctions_bidder_count_range CHECK (
        bidder_count BETWEEN 0 AND bid_count AND (bidder_count = 0) = (bid_count = 0)),
    CONSTRAINT auctions_leader_not_seller CHECK (leader_id <> seller_id),
    CONSTRAINT auctions_status_known CHECK (status IN ('SCHEDULED', 'OPEN', 'CLOSED', 'CANCELLED')),
    CONSTRAINT auctions_no_bids_before_start CHECK (status <> 'SCHEDULED' OR bid_count = 0),
    CONSTRAINT auctions_lane_known CHECK (lane IN ('standard', 'hot')),
    CONSTRAINT auctions_soft_close_range CHECK (
        soft_close_window_seconds BETWEEN 0 AND 86400 AND soft_close_extend_seconds BETWEEN 0 AND 86400),
    CONSTRAINT auctions_end_after_start CHECK (original_end_at > start_at),
    CONSTRAINT auctions_end_never_earlier CHECK (end_at >= original_end_at),
    CONSTRAINT auctions_closed_at_when_over CHECK ((closed_at IS NOT NULL) = (status IN ('CLOSED', 'CANCELLED'))),
    CONSTRAINT auctions_closed_after_end CHECK (status <> 'CLOSED' OR closed_at >= end_at)
) WITH (fillfactor = 70);
CREATE INDEX auctions_open_end_idx ON auctions (end_at, id) WHERE status = 'OPEN';
CREATE INDEX auctions_open_price_idx ON auctions (nominal_price, id) WHERE status = 'OPEN';
CREATE INDEX auctions_scheduled_start_idx ON auctions (start_at, id) WHERE status = 'SCHEDULED';
CREATE INDEX auctions_status_newest_idx ON auctions (status, id);
CREATE INDEX auctions_still_end_idx ON auctions (status, end_at, id) WHERE status <> 'OPEN';
CREATE INDEX auctions_still_price_idx ON auctions (status, nominal_price, id) WHERE status <> 'OPEN';
CREATE INDEX auctions_seller_idx ON auctions (seller_id, id);

CREATE TABLE lots (
    auction_id  bigint   NOT NULL,
    title       text     NOT NULL,
    description text     NOT NULL DEFAULT '',
    search      tsvector NOT NULL GENERATED ALWAYS AS (
        setweight(to_tsvector('simple', title), 'A') || setweight(to_tsvector('simple', description), 'B')) STORED,
    CONSTRAINT lots_pkey PRIMARY KEY (auction_id),
    CONSTRAINT lots_auction_fkey FOREIGN KEY (auction_id) REFERENCES auctions (id),
    CONSTRAINT lots_title_length CHECK (char_length(title) BETWEEN 1 AND 200),
    CONSTRAINT lots_description_length CHECK (char_length(description) <= 10000)
);
CREATE INDEX lots_search_idx ON lots USING gin (search);

-- The bid log. It has no foreign key to auctions: a bid is only ever written together with its auction's row, which the
-- writer has locked and which can never be deleted, and the check would cost a third of a hot auction's throughput.
CREATE TABLE bids (
    id          bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    auction_id  bigint      NOT NULL,
    seq         bigint      NOT NULL,
    bidder_id   bigint      NOT NULL,
    paddle      integer     NOT NULL,
    amount      bigint      NOT NULL,
    request_id  uuid        NOT NULL,
    accepted_at timestamptz NOT NULL,
    CONSTRAINT bids_pkey PRIMARY KEY (auction_id, seq),
    CONSTRAINT bids_request_key UNIQUE (auction_id, request_id),
    CONSTRAINT bids_seq_from_one CHECK (seq >= 1),
    CONSTRAINT bids_paddle_range CHECK (paddle BETWEEN 1 AND seq),
    CONSTRAINT bids_amount_range CHECK (amount > 0 AND amount < 10000000000000000)
);
-- "My bids", and the paddle number a returning bidder has in this auction.
CREATE INDEX bids_bidder_idx ON bids (bidder_id, auction_id, seq);

-- An event still to be told. The row only points at facts that never change (bids first_seq to last_seq of an auction,
-- or a closed auction), so the message is made when it is sent and nothing is stored twice.
CREATE TABLE outbox (
    id         bigint GENERATED ALWAYS AS IDENTITY,
    topic      text        NOT NULL,
    auction_id bigint      NOT NULL,
    first_seq  bigint,
    last_seq   bigint,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT outbox_pkey PRIMARY KEY (id),
    CONSTRAINT outbox_topic_known CHECK (topic IN ('bid-accepted', 'auction-closed')),
    CONSTRAINT outbox_bids_named CHECK (
        CASE topic WHEN 'bid-accepted' THEN first_seq >= 1 AND last_seq >= first_seq
                   ELSE first_seq IS NULL AND last_seq IS NULL END)
);

-- +goose StatementBegin
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% on % refused: %', TG_OP, TG_TABLE_NAME, TG_ARGV[0]
        USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER auctions_over_is_over BEFORE UPDATE ON auctions FOR EACH ROW
    WHEN (OLD.status IN ('CLOSED', 'CANCELLED'))
    EXECUTE FUNCTION refuse_change('a closed or cancelled auction never changes');
CREATE TRIGGER auctions_version_rises BEFORE UPDATE ON auctions FOR EACH ROW
    WHEN (NEW.version <= OLD.version)
    EXECUTE FUNCTION refuse_change('the version rises with every change');
CREATE TRIGGER auctions_terms_are_fixed BEFORE UPDATE ON auctions FOR EACH ROW
    WHEN ((NEW.seller_id, NEW.currency, NEW.currency_digits, NEW.start_price, NEW.min_increment, NEW.start_at, NEW.original_end_at)
        IS DISTINCT FROM
          (OLD.seller_id, OLD.currency, OLD.currency_digits, OLD.start_price, OLD.min_increment, OLD.start_at, OLD.original_end_at))
    EXECUTE FUNCTION refuse_change('the terms of an auction never change');
CREATE TRIGGER auctions_stay BEFORE DELETE ON auctions FOR EACH ROW
    EXECUTE FUNCTION refuse_change('an auction is never deleted');
CREATE TRIGGER bids_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON bids FOR EACH STATEMENT
    EXECUTE FUNCTION refuse_change('the bid log is append-only');
CREATE TRIGGER users_stay BEFORE DELETE ON users FOR EACH ROW
    EXECUTE FUNCTION refuse_change('bids name users for ever');

-- +goose Down
DROP TABLE outbox, bids, lots, auctions, sessions, tokens, users;
DROP FUNCTION refuse_change;

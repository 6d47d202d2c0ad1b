-- +goose Up

-- The seller's form as it was typed, so that a review has an address and an expired session costs no work. The key is the form's own. Once
-- the lot is published auction_id names it, and leads whoever goes back to the form to the lot.
CREATE TABLE drafts (
    user_id    bigint      NOT NULL,
    key        uuid        NOT NULL,
    form       bytea       NOT NULL,
    auction_id bigint,
    kept_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT drafts_pkey PRIMARY KEY (user_id, key),
    CONSTRAINT drafts_user_fkey FOREIGN KEY (user_id) REFERENCES users (id),
    CONSTRAINT drafts_auction_fkey FOREIGN KEY (auction_id) REFERENCES auctions (id)
);
CREATE INDEX drafts_kept_idx ON drafts (kept_at);
CREATE INDEX drafts_auction_idx ON drafts (auction_id) WHERE auction_id IS NOT NULL;

-- +goose Down
DROP TABLE drafts;

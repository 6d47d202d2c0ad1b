-- +goose NO TRANSACTION
-- A time that is no moment cannot be read by the program, and a list that holds it could not be shown.
-- The constraint is not validated: a row that holds such a time already is no reason to refuse an update
-- of the house. Every statement may be repeated, should the migration break off.

-- +goose Up
ALTER TABLE auctions DROP CONSTRAINT IF EXISTS auctions_times_finite;
ALTER TABLE auctions ADD CONSTRAINT auctions_times_finite CHECK (
    isfinite(start_at) AND isfinite(end_at) AND isfinite(original_end_at) AND isfinite(created_at)
    AND (closed_at IS NULL OR isfinite(closed_at))) NOT VALID;
ALTER TABLE listings DROP CONSTRAINT IF EXISTS listings_end_finite;
ALTER TABLE listings ADD CONSTRAINT listings_end_finite CHECK (isfinite(end_at)) NOT VALID;

-- +goose Down
ALTER TABLE listings DROP CONSTRAINT IF EXISTS listings_end_finite;
ALTER TABLE auctions DROP CONSTRAINT IF EXISTS auctions_times_finite;

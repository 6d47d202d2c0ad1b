-- +goose Up

-- The epoch fences the hot lane: what Redis decides for an auction counts only under the epoch in its row. Each comes from the sequence
-- and is never given twice, also not by a transaction that was rolled back. 0: never in the hot lane.
ALTER TABLE auctions ADD COLUMN lane_epoch bigint NOT NULL DEFAULT 0;
ALTER TABLE auctions ADD CONSTRAINT auctions_lane_epoch_range CHECK (lane_epoch >= 0);
CREATE SEQUENCE auction_lane_epochs;
CREATE INDEX auctions_hot_end_idx ON auctions (end_at, id) WHERE status = 'OPEN' AND lane = 'hot';

-- +goose Down
-- Hot auctions must have been moved to the standard lane before: what Redis has decided and PostgreSQL does not know would be lost.
DROP INDEX auctions_hot_end_idx;
DROP SEQUENCE auction_lane_epochs;
ALTER TABLE auctions DROP COLUMN lane_epoch;

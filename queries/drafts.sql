-- name: DraftKeep :exec
-- DraftKeep keeps a form as it is now. One that was published stays as it was then.
INSERT INTO drafts (user_id, key, form) VALUES (@user_id, @key, @form)
ON CONFLICT ON CONSTRAINT drafts_pkey DO UPDATE SET form = excluded.form, kept_at = excluded.kept_at
WHERE drafts.auction_id IS NULL;

-- name: DraftsTrim :exec
-- DraftsTrim deletes all but a person's newest forms.
DELETE FROM drafts WHERE (user_id, key) IN (
    SELECT d.user_id, d.key FROM drafts d WHERE d.user_id = @user_id ORDER BY d.kept_at DESC, d.key OFFSET @row_limit);

-- name: DraftFind :one
SELECT form, auction_id FROM drafts WHERE user_id = @user_id AND key = @key;

-- name: DraftPublish :exec
INSERT INTO drafts (user_id, key, form, auction_id) VALUES (@user_id, @key, @form, @auction_id)
ON CONFLICT ON CONSTRAINT drafts_pkey DO UPDATE SET
    form = excluded.form, auction_id = excluded.auction_id, kept_at = excluded.kept_at
WHERE drafts.auction_id IS NULL;

-- name: DraftsDeleteOld :execrows
DELETE FROM drafts WHERE kept_at < clock_timestamp() - make_interval(secs => @age_seconds);

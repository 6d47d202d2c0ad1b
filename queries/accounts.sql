-- name: UserInsert :one
-- UserInsert adds a person; whoever is a seller from the start sells since now.
INSERT INTO users (email, name, password_hash, role, seller_name, selling_since)
VALUES (sqlc.narg(email), @name, sqlc.narg(password_hash), @role, sqlc.narg(seller_name),
    CASE WHEN @role = 'seller' THEN clock_timestamp() END)
RETURNING *;

-- name: UserGet :one
SELECT * FROM users WHERE id = @id;

-- name: UserByEmail :one
SELECT * FROM users WHERE lower(email) = lower(@email::text);

-- name: UserExists :one
SELECT EXISTS (SELECT FROM users WHERE id = @id);

-- name: UserMakeSeller :execrows
-- UserMakeSeller lets a user sell under a name that buyers see, or changes that name; an admin stays an admin.
UPDATE users SET role = CASE role WHEN 'user' THEN 'seller' ELSE role END, seller_name = sqlc.narg(seller_name),
    selling_since = COALESCE(selling_since, clock_timestamp())
WHERE id = @id;

-- name: UserSetRole :execrows
UPDATE users SET role = @role,
    selling_since = CASE WHEN @role = 'seller' THEN COALESCE(selling_since, clock_timestamp()) ELSE selling_since END
WHERE id = @id;

-- name: UserSetPassword :one
-- UserSetPassword also ends all sessions, by their epoch.
UPDATE users SET password_hash = @password_hash, session_epoch = session_epoch + 1
WHERE id = @id AND email IS NOT NULL
RETURNING session_epoch;

-- name: UserEndSessions :one
UPDATE users SET session_epoch = session_epoch + 1 WHERE id = @id RETURNING session_epoch;

-- name: UserBlock :execrows
UPDATE users SET blocked_at = COALESCE(blocked_at, clock_timestamp()), session_epoch = session_epoch + 1 WHERE id = @id;

-- name: UserUnblock :execrows
UPDATE users SET blocked_at = NULL WHERE id = @id;

-- name: UsersOutside :one
-- UsersOutside counts the people who have none of some e-mail addresses.
SELECT count(*) FROM users WHERE email IS NULL OR email <> ALL (@emails::text[]);

-- name: DeviceKnown :one
-- DeviceKnown tells whether the person with an e-mail address has signed in with this device.
SELECT EXISTS (
    SELECT FROM devices JOIN users ON users.id = devices.user_id
    WHERE lower(users.email) = lower(@email::text) AND devices.hash = @hash);

-- name: DeviceIssued :one
-- DeviceIssued tells whether anybody has signed in with this device.
SELECT EXISTS (SELECT FROM devices WHERE hash = @hash);

-- name: DeviceKeep :exec
INSERT INTO devices (user_id, hash) VALUES (@user_id, @hash)
ON CONFLICT ON CONSTRAINT devices_pkey DO UPDATE SET last_used_at = clock_timestamp();

-- name: DevicesDeleteOldest :exec
-- DevicesDeleteOldest leaves a person's latest devices.
DELETE FROM devices WHERE devices.user_id = @user_id AND devices.hash IN (
    SELECT d.hash FROM devices d WHERE d.user_id = @user_id ORDER BY d.last_used_at DESC, d.hash OFFSET @row_limit);

-- name: DevicesDelete :exec
DELETE FROM devices WHERE user_id = @user_id;

-- name: TokensDelete :many
-- TokensDelete revokes all of a user's tokens.
DELETE FROM tokens WHERE user_id = @user_id RETURNING hash;

-- name: TokenInsert :one
INSERT INTO tokens (user_id, name, hash, service) VALUES (@user_id, @name, @hash, @service) RETURNING *;

-- name: TokenByHash :one
SELECT sqlc.embed(tokens), sqlc.embed(users)
FROM tokens JOIN users ON users.id = tokens.user_id
WHERE tokens.hash = @hash AND users.blocked_at IS NULL;

-- name: TokensOfUser :many
SELECT * FROM tokens WHERE user_id = @user_id ORDER BY id DESC LIMIT @row_limit;

-- name: TokenDelete :many
-- TokenDelete revokes a user's token and says which it was, so that the node that did it forgets it at once.
DELETE FROM tokens WHERE id = @id AND user_id = @user_id RETURNING hash;

-- name: SessionFind :one
SELECT data FROM sessions WHERE token = @token AND expiry > clock_timestamp();

-- name: SessionKeep :exec
-- SessionKeep writes a session, unless it has ended: a page that was drawn beside a sign-out does not bring it back.
INSERT INTO sessions (token, data, expiry) VALUES (@token, @data, @expiry)
ON CONFLICT ON CONSTRAINT sessions_pkey DO UPDATE SET data = excluded.data, expiry = excluded.expiry
WHERE sessions.expiry > clock_timestamp();

-- name: SessionDelete :exec
-- SessionDelete ends a session. Its row goes with those that have run out.
UPDATE sessions SET data = '', expiry = clock_timestamp() WHERE token = @token;

-- name: SessionsDeleteExpired :execrows
DELETE FROM sessions WHERE expiry <= clock_timestamp();

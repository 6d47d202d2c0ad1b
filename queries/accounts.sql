-- name: UserInsert :one
INSERT INTO users (email, name, password_hash, role)
VALUES (sqlc.narg(email), @name, sqlc.narg(password_hash), @role)
RETURNING *;

-- name: UserGet :one
SELECT * FROM users WHERE id = @id;

-- name: UserByEmail :one
SELECT * FROM users WHERE lower(email) = lower(@email::text);

-- name: UserExists :one
SELECT EXISTS (SELECT FROM users WHERE id = @id);

-- name: UserMakeSeller :execrows
-- UserMakeSeller lets a user sell; an admin stays an admin.
UPDATE users SET role = 'seller' WHERE id = @id AND role = 'user';

-- name: TokenInsert :one
INSERT INTO tokens (user_id, name, hash, service) VALUES (@user_id, @name, @hash, @service) RETURNING *;

-- name: TokenByHash :one
SELECT sqlc.embed(tokens), sqlc.embed(users)
FROM tokens JOIN users ON users.id = tokens.user_id
WHERE tokens.hash = @hash;

-- name: TokensOfUser :many
SELECT * FROM tokens WHERE user_id = @user_id ORDER BY id DESC LIMIT @row_limit;

-- name: TokenDelete :many
-- TokenDelete revokes a user's token and says which it was, so that the node that did it forgets it at once.
DELETE FROM tokens WHERE id = @id AND user_id = @user_id RETURNING hash;

-- name: SessionFind :one
SELECT data FROM sessions WHERE token = @token AND expiry > clock_timestamp();

-- name: SessionKeep :exec
INSERT INTO sessions (token, data, expiry) VALUES (@token, @data, @expiry)
ON CONFLICT ON CONSTRAINT sessions_pkey DO UPDATE SET data = excluded.data, expiry = excluded.expiry;

-- name: SessionDelete :exec
DELETE FROM sessions WHERE token = @token;

-- name: SessionsDeleteExpired :execrows
DELETE FROM sessions WHERE expiry <= clock_timestamp();

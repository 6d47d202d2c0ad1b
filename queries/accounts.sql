-- name: UserInsert :one
INSERT INTO users (email, name, password_hash, role)
VALUES (sqlc.narg(email), @name, sqlc.narg(password_hash), @role)
RETURNING *;

-- name: UserGet :one
SELECT * FROM users WHERE id = @id;

-- name: UserByEmail :one
SELECT * FROM users WHERE lower(email) = lower(@email::text);

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

-- name: TokenDelete :execrows
DELETE FROM tokens WHERE id = @id AND user_id = @user_id;

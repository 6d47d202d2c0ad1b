#!lua flags=allow-oom
-- Lets the deciding go on that the holder of the token has frozen. KEYS: state. ARGV: the epoch, the token. Returns 1 if it goes on.
local state = redis.call('HMGET', KEYS[1], 'epoch', 'status', 'token')
if state[1] ~= ARGV[1] or state[2] ~= 'FROZEN' or state[3] ~= ARGV[2] then
  return 0
end
redis.call('HSET', KEYS[1], 'status', 'OPEN')
redis.call('HDEL', KEYS[1], 'token')
return 1

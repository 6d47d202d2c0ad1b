#!lua flags=allow-oom
-- Stops the deciding for an auction under an epoch: for good if its end has come (CLOSE), or until whoever holds the token lets it go
-- on (FREEZE). A later freeze takes the token over, so that an earlier holder's late word does nothing.
--
-- KEYS: state. ARGV: the epoch, CLOSE, FREEZE or FORCE, the token. Returns {word, now, end, seq}; the word is MISSING if Redis knows nothing of the
-- epoch, EARLY if it is not the end yet, STOPPED if somebody must look at it, and otherwise DONE.
local state = redis.call('HMGET', KEYS[1], 'epoch', 'status', 'end', 'seq')
local time = redis.call('TIME')
local now = string.format('%.0f', tonumber(time[1]) * 1000000 + tonumber(time[2]))
if state[1] ~= ARGV[1] then
  return {'MISSING', now, '0', '0'}
end
local word = 'DONE'
if state[2] == 'STOPPED' then
  word = 'STOPPED'
elseif ARGV[2] ~= 'CLOSE' then
  if state[2] ~= 'CLOSED' then
    redis.call('HSET', KEYS[1], 'status', 'FROZEN', 'token', ARGV[3])
  end
elseif tonumber(now) < tonumber(state[3]) and state[2] ~= 'CLOSED' then
  word = 'EARLY'
else
  redis.call('HSET', KEYS[1], 'status', 'CLOSED')
end
return {word, now, state[3], state[4]}

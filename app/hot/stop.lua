#!lua flags=allow-oom
-- Stops an auction because Redis and the rulebook differ about it. KEYS: state. ARGV: the epoch.
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 'status', 'STOPPED')
return 1

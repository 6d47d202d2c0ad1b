#!lua flags=allow-oom
-- Leaves a database's mark unless there is one. KEYS: where. ARGV: the mark. Returns the mark that stands. A few bytes, also while memory
-- is short: what follows it frees more.
redis.call('SET', KEYS[1], ARGV[1], 'NX')
return redis.call('GET', KEYS[1])

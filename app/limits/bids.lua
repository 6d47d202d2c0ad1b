-- One request to bid by one bidder. Both keys carry the bidder's hash tag.
--   KEYS[1]  sorted set: the different bids of the last second, by when each was first asked for
--   KEYS[2]  list: when the requests of the last second came
--   ARGV     the bid (auction and idempotency key), most different bids, most requests, the second in microseconds
-- Returns 0 and records the request, or the microseconds until it may be sent again, and records nothing.
-- Times are whole microseconds below 2^53, so Lua's numbers hold them exactly.
local bid, bids_max, requests_max, span = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])

local oldest = redis.call('LINDEX', KEYS[2], -requests_max)
if oldest and now - tonumber(oldest) < span then
    return tonumber(oldest) + span - now
end

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - span)
if not redis.call('ZSCORE', KEYS[1], bid) then
    if redis.call('ZCARD', KEYS[1]) >= bids_max then
        local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
        return tonumber(first[2]) + span - now
    end
    redis.call('ZADD', KEYS[1], now, bid)
    redis.call('PEXPIRE', KEYS[1], span / 1000)
end

redis.call('RPUSH', KEYS[2], now)
redis.call('LTRIM', KEYS[2], -requests_max, -1)
redis.call('PEXPIRE', KEYS[2], span / 1000)
return 0

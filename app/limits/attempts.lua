-- A try that is allowed at once a few times, and then after a delay that doubles with each.
--   KEYS[1]    what is remembered: "count time", in microseconds
--   ARGV[1-4]  tries without a delay; first delay, longest delay, and how long nothing must happen for all to be forgotten, in microseconds
-- Returns 0 and counts the try, or the microseconds until the next one is allowed, and counts nothing.
local free, first, longest, forget = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local count, last = 0, 0
local memory = redis.call('GET', KEYS[1])
if memory then
    count, last = string.match(memory, '^(%d+) (%d+)$')
    count, last = tonumber(count), math.min(tonumber(last), now) -- a clock that went back locks nobody out
end
if count >= free then
    local wait = last + math.min(longest, first * 2 ^ math.min(count - free, 40)) - now
    if wait > 0 then
        return math.ceil(wait)
    end
end
redis.call('SET', KEYS[1], string.format('%d %.0f', count + 1, now), 'PX', forget / 1000)
return 0

-- One request to bid by one bidder.
--   KEYS[1]  what the bidder asked for in the last second: the different bids, each after when it was first asked for, a bar, and when
--            the requests came; one string, because three commands cost a third of what ten do
--   ARGV     the bid (auction and idempotency key), most different bids, most requests, the second in microseconds
-- Returns 0 and records the request, or the microseconds until it may be sent again, and records nothing.
-- Times are whole microseconds below 2^53, so Lua's numbers hold them exactly.

-- A second's memory is worth no disk and no replica: a Redis that syncs every write would have each bid wait for that.
redis.set_repl(redis.REPL_NONE)

local bid, bids_max, requests_max, span = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local bids_text, requests_text = string.match(redis.call('GET', KEYS[1]) or '|', '^(.*)|(.*)$')

local requests, oldest = {}, nil
for text in string.gmatch(requests_text, '%d+') do
    local at = tonumber(text)
    if now - at < span then
        oldest = oldest or at
        requests[#requests + 1] = text
    end
end
if #requests >= requests_max then
    return oldest + span - now
end

local bids, first, known = {}, nil, false
for text, name in string.gmatch(bids_text, '(%d+) (%S+)') do
    local at = tonumber(text)
    if now - at < span then
        first = first or at
        known = known or name == bid
        bids[#bids + 1] = text .. ' ' .. name
    end
end
local text = string.format('%.0f', now)
if not known then
    if #bids >= bids_max then
        return first + span - now
    end
    bids[#bids + 1] = text .. ' ' .. bid
end

requests[#requests + 1] = text
redis.call('SET', KEYS[1], table.concat(bids, ' ') .. '|' .. table.concat(requests, ' '), 'PX', span / 1000)
return 0

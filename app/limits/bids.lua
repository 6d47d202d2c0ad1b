-- Requests to bid, in the order they came, each by one bidder.
--   KEYS[i]    what the bidder of request i asked for in the last second: "time bid;" for each different bid, a bar, and "time " for each
--              request; one string, because three commands cost a third of what ten do
--   ARGV[1-3]  most different bids, most requests, the second in microseconds
--   ARGV[3+i]  the bid of request i (auction and idempotency key)
-- Returns for each request 0 and records it, or the microseconds until it may be sent again, and records nothing.
-- Times are microseconds in sixteen digits (until 2286), so texts compare as the numbers do, which are below 2^53 and exact in Lua.

-- A second's memory is worth no disk and no replica: a Redis that syncs every write would have each bid wait for that.
redis.set_repl(redis.REPL_NONE)

local find, sub, digits = string.find, string.sub, 16
local bids_max, requests_max, span = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local now_text, over = string.format('%.0f', now), string.format('%.0f', now - span)

-- since drops from the front of "time…" what is over; each entry ends with a mark.
local function since(entries, mark)
    local from = 1
    while from <= #entries and sub(entries, from, from + digits - 1) <= over do
        from = find(entries, mark, from, true) + 1
    end
    return sub(entries, from)
end

local function count(entries, mark)
    local n, at = 0, find(entries, mark, 1, true)
    while at do
        n, at = n + 1, find(entries, mark, at + 1, true)
    end
    return n
end

local function wait_for(entries)
    return tonumber(sub(entries, 1, digits)) + span - now
end

local function ask(key, bid)
    local memory = redis.call('GET', key) or '|'
    local bar = find(memory, '|', 1, true)
    local bids, requests = since(sub(memory, 1, bar - 1), ';'), since(sub(memory, bar + 1), ' ')
    if sub(requests, -digits - 1, -2) > now_text then
        bids, requests = '', '' -- the clock has gone back: by it nobody has asked yet
    end
    if count(requests, ' ') >= requests_max then
        return wait_for(requests)
    end
    if not find(bids, ' ' .. bid .. ';', 1, true) then
        if count(bids, ';') >= bids_max then
            return wait_for(bids)
        end
        bids = bids .. now_text .. ' ' .. bid .. ';'
    end
    redis.call('SET', key, bids .. '|' .. requests .. now_text .. ' ', 'PX', span / 1000)
    return 0
end

local waits = {}
for i, key in ipairs(KEYS) do
    waits[i] = ask(key, ARGV[3 + i])
end
return waits

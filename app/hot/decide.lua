-- Decides a batch of bids for one auction, one after the other, as auction.State.Fold does; the settler replays every accepted one
-- through Fold and stops the auction if the two ever differ.
--
-- KEYS: state, keys, paddles, log, recent (names.go). ARGV: the epoch, how many recent bids are kept, then for each bid its request id,
-- bidder, amount ("" if the currency cannot express it), the next minimum if it is accepted, the id it would have, "own" to
-- ask before the own lead is raised, and the highest minimum that the amount is far above ("" to ask nothing about it).
-- Amounts are texts of seventeen digits, so that comparing them is exact for every amount; times are microseconds, exact as doubles.
-- Returns {word} if nothing can be decided here, or {"OK", state, answers, recent, now}.
local state = redis.call('HMGET', KEYS[1], 'epoch', 'status', 'seller', 'start', 'end', 'window', 'extend', 'price', 'minimum', 'leader',
  'paddle', 'seq', 'bidders', 'version', 'fresh')
local epoch, status, seller, price, minimum, leader, paddle = state[1], state[2], state[3], state[8], state[9], state[10], state[11]
if epoch ~= ARGV[1] then
  return {'UNLOADED'}
end
if status ~= 'OPEN' and status ~= 'CLOSED' then
  return {status}
end
local begins, ends, window, extend = tonumber(state[4]), tonumber(state[5]), tonumber(state[6]), tonumber(state[7])
local seq, bidders, version = tonumber(state[12]), tonumber(state[13]), tonumber(state[14])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local function whole(number)
  return string.format('%.0f', number)
end

local answers, accepted = {}, 0
for i = 3, #ARGV, 7 do
  local request, bidder, amount, following, id = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  local own, far = ARGV[i + 5] == 'own' and bidder == leader, ARGV[i + 6] ~= '' and ARGV[i + 6] >= minimum
  local earlier = redis.call('HGET', KEYS[2], request)
  local answer
  if earlier then
    local same = bidder .. ':' .. amount .. ':'
    answer = string.sub(earlier, 1, #same) == same and 'AGAIN ' .. earlier or 'REUSED'
  elseif amount == '' then
    answer = 'AMOUNT'
  elseif bidder == seller then
    answer = 'OWN'
  elseif status == 'CLOSED' or now >= ends then
    answer = 'CLOSED ' .. whole(ends)
  elseif now < begins then
    answer = 'EARLY'
  elseif amount < minimum then
    answer = 'LOW ' .. price .. ':' .. whole(ends)
  elseif own or far then
    answer = 'ASK ' .. (own and 'own' or '') .. ':' .. (far and 'far' or '') .. ':' .. price
  else
    local known = redis.call('HGET', KEYS[3], bidder)
    if not known then
      bidders = bidders + 1
      known = whole(bidders)
      redis.call('HSET', KEYS[3], bidder, known)
    end
    paddle, leader, price, minimum = known, bidder, amount, following
    seq, version, accepted = seq + 1, version + 1, accepted + 1
    if window > 0 and ends - now <= window and now + extend > ends then
      ends = now + extend
    end
    local bid = bidder .. ':' .. amount .. ':' .. whole(seq) .. ':' .. paddle .. ':' .. whole(now) .. ':' .. id
    redis.call('XADD', KEYS[4], whole(seq) .. '-0', 'bid', bid, 'request', request, 'end', whole(ends), 'version', whole(version))
    redis.call('HSET', KEYS[2], request, bid)
    redis.call('LPUSH', KEYS[5], bid .. ':' .. request)
    answer = 'NEW ' .. bid
  end
  answers[#answers + 1] = answer
end

local recent = {}
if accepted > 0 then
  redis.call('LTRIM', KEYS[5], 0, tonumber(ARGV[2]) - 1)
  recent = redis.call('LRANGE', KEYS[5], 0, -1)
  redis.call('HSET', KEYS[1], 'end', whole(ends), 'price', price, 'minimum', minimum, 'leader', leader, 'paddle', paddle,
    'seq', whole(seq), 'bidders', whole(bidders), 'version', whole(version))
end
-- What was loaded goes by itself unless somebody decides by it: the transaction that loaded it may have failed.
if state[15] then
  redis.call('HDEL', KEYS[1], 'fresh')
  for i = 1, #KEYS do
    redis.call('PERSIST', KEYS[i])
  end
end
return {'OK', {whole(ends), price, leader, paddle, whole(seq), whole(bidders), whole(version)}, answers, recent, whole(now)}

// The house's clock.
//
// A sample is database time minus this page's monotonic clock. Every sample arrives late, by as much as it travelled,
// so it is too small, and the largest of the last few is the best. The page itself brings the first.

const samplesMax = 8; // two minutes of heartbeats: long enough to meet a quick one, short enough to forget a jump
const samples = [];

function learnTime(databaseMs) {
  if (!Number.isFinite(databaseMs)) return;
  samples.push(databaseMs - performance.now());
  if (samples.length > samplesMax) samples.shift();
}

const houseNow = () => performance.now() + Math.max(...samples);

learnTime(Number(body.dataset.now) || Date.now());

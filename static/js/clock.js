// The house's clock.
//
// A sample is database time minus this page's monotonic clock. Every sample arrives late, by as
// much as it travelled, so it is too small, and the largest of the last few is the best. The page
// itself brings the first.

const samplesMax = 8; // two minutes of heartbeats: long enough to meet a quick one, short enough to forget a jump
const samples = [];

// While the clock is in doubt nothing is counted down: a machine that slept may have stopped the
// page's own clock.
let clockInDoubt = false;

function learnTime(databaseMs) {
  if (!Number.isFinite(databaseMs)) return;
  if (clockInDoubt) samples.length = 0;
  clockInDoubt = false;
  samples.push(databaseMs - performance.now());
  if (samples.length > samplesMax) samples.shift();
}

const houseNow = () => performance.now() + Math.max(...samples);

learnTime(Number(body.dataset.now) || Date.now());

// The page's monotonic clock and the machine's own are compared to see that one of them jumped. A
// second is far more than they drift apart between two looks, and too little to matter.
const jumpMs = 1000;
const clocksApart = () => Date.now() - performance.now();
let apart = clocksApart();

function clockJumped() {
  const before = apart;
  apart = clocksApart();
  return Math.abs(apart - before) > jumpMs;
}

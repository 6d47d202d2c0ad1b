// Asking for the newest figures, where the stream does not bring them: a proxy that holds the
// stream back lets an answer that ends pass. The answer is in the stream's own words, and without
// what the page shows already.

const askEveryMs = 1500;   // a fifth more or less: a page is to be right within two seconds
const askHiddenMs = 15000; // nobody looks, but the title is to tell of an outbid
const askWithinMs = 8000;
const askSoonTries = 100;  // the pauses grow when the house has been away for minutes
const askMostMs = 15000;

class Asker {
  // hear gets each event of an answer; settled is called after each try.
  constructor(url, hear, settled) {
    this.url = url;
    this.hear = hear;
    this.settled = settled;
    this.works = false;
    this.failures = 0;
  }

  start() {
    if (this.running) return;
    this.running = true;
    this.failures = 0;
    this.ask();
  }

  stop() {
    this.running = this.works = false;
    clearTimeout(this.timer);
  }

  // ask asks once, and goes on when the page is to be kept right by asking.
  async ask() {
    if (this.asking) return;
    this.asking = true;
    clearTimeout(this.timer);
    let least = 0;
    try {
      const signal = AbortSignal.timeout(askWithinMs);
      const answer = await fetch(`${this.url}&have=${this.versions()}`, { cache: 'no-store', signal });
      least = Number(answer.headers.get('Retry-After')) * 1000 || 0;
      const isStates = answer.headers.get('Content-Type')?.startsWith('text/event-stream');
      if (!answer.ok || !isStates) throw new Error('no answer');
      const text = await answer.text();
      this.works = this.running;
      this.failures = 0;
      eventsOf(text).forEach(event => this.hear(event));
    } catch {
      this.works = false;
      this.failures++;
    }
    this.asking = false;
    this.settled();
    const pause = Math.max(least, this.pause() * (0.8 + 0.4 * Math.random()));
    if (this.running) this.timer = setTimeout(() => this.ask(), pause);
  }

  pause() {
    if (document.hidden) return askHiddenMs;
    return Math.min(askMostMs, askEveryMs * 1.5 ** Math.max(0, this.failures - askSoonTries));
  }

  versions() {
    const lots = new URL(this.url, location).searchParams.get('auctions').split(',');
    return lots.map(lot => lotState(lot)?.dataset.version || 0).join();
  }
}

// eventsOf reads a text of server-sent events as a browser does.
function eventsOf(text) {
  return text.split('\n\n').map(block => {
    const event = { name: 'message', data: [] };
    for (const line of block.split('\n')) {
      if (line.startsWith('event: ')) event.name = line.slice(7);
      if (line.startsWith('data: ')) event.data.push(line.slice(6));
    }
    return { name: event.name, data: event.data.join('\n') };
  }).filter(event => event.data !== '');
}

// What the tab's title tells while nobody looks at the page: that the viewer was outbid, or how a
// lot ended.

const ownTitle = document.title;
const titleWords = { outbid: 'outbid', won: 'won', lost: 'ended', off: 'ended' };
const untold = new Map(); // lot to what the title tells of it, the newest last

function tellInTitle(lot, standing) {
  untold.delete(lot);
  if (document.hidden && titleWords[standing]) untold.set(lot, titleWords[standing]);
  showTitle();
}

// A lot that can still be saved comes before those that are over.
function showTitle() {
  const told = [...untold.values()];
  const what = told.includes('outbid') ? 'outbid' : told.at(-1);
  document.title = what ? `${word(`title-${what}`)} · ${ownTitle}` : ownTitle;
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) return;
  untold.clear();
  showTitle();
});

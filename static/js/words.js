// The words that the script reads out or writes itself. The place where they are read out carries
// them.

const announcer = document.getElementById('announcer');
const word = name => announcer.getAttribute(`data-${name}`) || '';

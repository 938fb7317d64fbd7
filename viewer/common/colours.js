// colours.js — what is drawn in the same colours on every page.

function hash(text) {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return (h ^ (h >>> 15)) >>> 0;
}

function plainColours(dark) {
  return {
    dark,
    thread: dark ? "#39404d" : "#dcdfe5",
    text: dark ? "#f2f3f5" : "#20242b",
    dimText: dark ? "#8d95a3" : "#9aa1ab",
    dim: dark ? "#2a2e37" : "#eceae5",
    found: dark ? "#d1447f" : "#f06ba8",
    small: dark ? "#343a45" : "#d9d6cf",
    edge: dark ? "#ffffff" : "#14171c",
  };
}

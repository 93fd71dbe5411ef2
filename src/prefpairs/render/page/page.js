'use strict';
// Browses the pairs of the page. Everything from a pair is inserted as text, never as markup.
(() => {
  const MOST_WORDS = 40000; // per answer; longer answers are not compared
  const MOST_CHANGES = 3000; // words that differ; with more, answers count as entirely different
  const LONG_PROMPT = 700;
  const PRINTED = 5;
  const UNSEEN = /\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
  const WORDS = /(?:[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]|(?:(?![\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}])[\p{L}\p{M}\p{N}_])+|[^\p{L}\p{M}\p{N}_\s]|^\s)\s*/gu;
  const ORDERS = {
    'as they came': (pair) => pair.place,
    'widest gap first': (pair) => -(pair.gap ?? -Infinity),
    'narrowest gap first': (pair) => pair.gap ?? Infinity,
    'most uneven lengths first': (pair) => -Math.max(pair.ratio, 1 / pair.ratio),
    'chosen longer first': (pair) => -pair.ratio,
    'rejected longer first': (pair) => pair.ratio,
  };
  const REASONS = {
    drawn: 'drawn by seed', uneven: 'most uneven lengths', narrow: 'narrowest gaps',
  };
  const KEYS = {
    'j or →': 'next pair', 'k or ←': 'the one before', '/': 'search',
    d: 'differences on or off', '?': 'this help', Esc: 'leave a field, close this',
  };

  const pairs = JSON.parse(document.getElementById('data').textContent);
  pairs.forEach((pair, place) => {
    pair.place = place;
    pair.ratio = Math.max(1, pair.chars[1]) / Math.max(1, pair.chars[2]);
  });
  const state = { found: pairs, at: 0, text: '', compare: true, wide: false };

  // ---- elements

  const make = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value !== null && value !== false) made.setAttribute(key, value === true ? '' : value);
    }
    made.append(...children);
    return made;
  };
  const button = (label, does, attributes = {}) => {
    const made = make('button', { type: 'button', ...attributes }, label);
    made.addEventListener('click', does);
    return made;
  };
  const number = (value) => value.toLocaleString('en-US', { maximumFractionDigits: 4 });
  const large = (word) => word[0].toUpperCase() + word.slice(1);
  const score = (value) => (value === null ? 'unknown' : number(value));

  // ---- visible text

  const code = (sign) => `U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`;

  /** Text nodes, with marks for invisible characters. */
  const written = (text) => {
    const nodes = [];
    let place = 0;
    for (const { 0: sign, index } of text.matchAll(UNSEEN)) {
      nodes.push(text.slice(place, index), make('span', { class: 'sign' }, code(sign)));
      place = index + sign.length;
    }
    return [...nodes, text.slice(place)];
  };

  /** Text nodes, with the search term marked. */
  const found = (text) => {
    if (!state.text) return written(text);
    const nodes = [];
    const low = lower(text);
    let place = 0;
    let hit;
    while ((hit = low.indexOf(state.text, place)) >= 0) {
      const end = hit + state.text.length;
      nodes.push(...written(text.slice(place, hit)));
      nodes.push(make('mark', {}, ...written(text.slice(hit, end))));
      place = end;
    }
    return [...nodes, ...written(text.slice(place))];
  };

  /** In lower case, with the same length, so that positions stay the same. */
  const lower = (text) => {
    const low = text.toLowerCase();
    return low.length === text.length ? low : text.replace(/./gsu, (sign) => {
      const small = sign.toLowerCase();
      return small.length === sign.length ? small : sign;
    });
  };

  // ---- differences

  const wordsOf = (pieces) => pieces.flatMap((piece, of) => Array.from(
    piece.text.matchAll(WORDS), ({ 0: seen, index }) => ({ of, start: index, end: index + seen.trimEnd().length, next: index + seen.length, word: seen.trim() }),
  ));

  /** The words that both sides have, in order: Myers' greedy search, abandoned if it takes too long. */
  const common = (left, right) => {
    let start = 0;
    let [endLeft, endRight] = [left.length, right.length];
    const same = [];
    while (start < endLeft && start < endRight && left[start].word === right[start].word) {
      same.push([start, start]);
      start += 1;
    }
    const tail = [];
    while (endLeft > start && endRight > start && left[endLeft - 1].word === right[endRight - 1].word) {
      endLeft -= 1;
      endRight -= 1;
      tail.push([endLeft, endRight]);
    }
    const numbers = new Map();
    const numbered = (words) => Int32Array.from(words, ({ word }) => {
      if (!numbers.has(word)) numbers.set(word, numbers.size);
      return numbers.get(word);
    });
    const inside = search(numbered(left.slice(start, endLeft)), numbered(right.slice(start, endRight)));
    if (inside === null) return null;
    return [...same, ...inside.map(([one, other]) => [one + start, other + start]), ...tail.reverse()];
  };

  const search = (left, right) => {
    const most = Math.min(left.length + right.length, MOST_CHANGES);
    const middle = most + 1;
    const furthest = new Int32Array(2 * most + 3);
    const before = [];
    for (let changes = 0; changes <= most; changes += 1) {
      before.push(furthest.slice(middle - changes - 1, middle + changes + 2));
      for (let line = -changes; line <= changes; line += 2) {
        const down = line === -changes || (line !== changes && furthest[middle + line - 1] < furthest[middle + line + 1]);
        let one = down ? furthest[middle + line + 1] : furthest[middle + line - 1] + 1;
        while (one < left.length && one - line < right.length && left[one] === right[one - line]) one += 1;
        furthest[middle + line] = one;
        if (one >= left.length && one - line >= right.length) return walkedBack(before, left.length, right.length);
      }
    }
    return null;
  };

  const walkedBack = (before, left, right) => {
    const same = [];
    let [one, other] = [left, right];
    for (let changes = before.length - 1; changes >= 0; changes -= 1) {
      const furthest = before[changes];
      const middle = changes + 1;
      const line = one - other;
      const down = line === -changes || (line !== changes && furthest[middle + line - 1] < furthest[middle + line + 1]);
      const from = down ? line + 1 : line - 1;
      const oneBefore = changes ? furthest[middle + from] : 0;
      const otherBefore = changes ? oneBefore - from : 0;
      while (one > oneBefore && other > otherBefore) same.push([one -= 1, other -= 1]);
      [one, other] = [oneBefore, otherBefore];
    }
    return same.reverse();
  };

  /** The runs that are equal on both sides, as [first left, first right, words]. */
  const runsOf = (same) => {
    const runs = [];
    for (const [one, other] of same) {
      const last = runs.at(-1);
      if (last && one === last[0] + last[2] && other === last[1] + last[2]) last[2] += 1;
      else runs.push([one, other, 1]);
    }
    return runs;
  };

  /** The words of each side that the other one lacks; short matches between larger changes are ignored. */
  const different = (pair) => {
    const sides = [wordsOf(pair.chosen), wordsOf(pair.rejected)];
    if (Math.max(sides[0].length, sides[1].length) > MOST_WORDS) return null;
    const same = common(...sides);
    if (same === null) return null;
    const runs = runsOf(same);
    const only = sides.map((words) => new Uint8Array(words.length).fill(1));
    const end = [sides[0].length, sides[1].length, 0];
    runs.forEach(([one, other, size], place) => {
      const [before, after] = [runs[place - 1] ?? [0, 0, 0], runs[place + 1] ?? end];
      const ahead = Math.max(one - before[0] - before[2], other - before[1] - before[2]);
      const behind = Math.max(after[0] - one - size, after[1] - other - size);
      if (size > 3 || size > Math.min(ahead, behind)) {
        only[0].fill(0, one, one + size);
        only[1].fill(0, other, other + size);
      }
    });
    return sides.map((words, side) => words.filter((_, place) => only[side][place]));
  };

  // ---- one pair

  const SAID = { thinking: 'thinks', call: 'calls', result: 'result of', part: 'part:', gap: '' };

  const whoOf = (piece) => {
    const says = [piece.role, SAID[piece.kind] ?? '', piece.name].filter(Boolean).join(' ');
    return piece.kind === 'result' && !piece.name ? 'tool result' : says;
  };

  const showPiece = (piece, spans) => {
    const words = make('div', { class: 'words', dir: 'auto' });
    const cut = piece.cut ?? [-1, 0];
    let place = 0;
    const upTo = (end, only) => {
      const parts = place < cut[0] && cut[0] < end ? [cut[0], end] : [end];
      if (place === cut[0]) words.append(leftOut(cut[1]));
      for (const until of parts) {
        const nodes = found(piece.text.slice(place, until));
        words.append(...(only ? [make('span', { class: 'only' }, ...nodes)] : nodes));
        place = until;
        if (until === cut[0] && end !== until) words.append(leftOut(cut[1]));
      }
    };
    for (const { start, end } of spans) {
      if (start > place) upTo(start, false);
      upTo(end, true);
    }
    if (place < piece.text.length || cut[0] === place) upTo(piece.text.length, false);
    const who = whoOf(piece);
    return make('div', { class: `piece ${piece.kind}` },
      ...(who ? [make('div', { class: 'who', dir: 'auto' }, ...written(who))] : []), words);
  };

  const leftOut = (count) => make('span', { class: 'cut' }, `${number(count)} characters left out`);

  /** The pieces of a text; consecutive words form one span. */
  const showPieces = (pieces, only) => {
    const spans = pieces.map(() => []);
    for (const { of, start, end, next } of only ?? []) {
      const last = spans[of].at(-1);
      if (last && last.next === start) Object.assign(last, { end, next });
      else spans[of].push({ start, end, next });
    }
    return make('div', { class: 'pieces' }, ...pieces.map((piece, place) => showPiece(piece, spans[place])));
  };

  const showSide = (pair, side, only) => {
    const [name, place] = side === 'chosen' ? ['Chosen', 0] : ['Rejected', 1];
    const index = pair.indexes[place] === null ? [] : [`number ${pair.indexes[place]}`];
    const from = [pair.origins[place], ...index, `${number(pair.chars[place + 1])} characters`];
    return make('section', { class: `side ${side}` },
      make('h3', {}, make('span', {}, name), make('span', {}, score(pair.scores[place]))),
      make('p', { class: 'from', dir: 'auto' }, ...written(from.filter(Boolean).join(' · '))),
      showPieces(pair[side], only));
  };

  const showPrompt = (pair) => {
    const long = pair.chars[0] > LONG_PROMPT;
    const closed = long && !state.wide;
    const made = make('section', { class: closed ? 'prompt closed' : 'prompt' }, make('h3', {}, 'Prompt'), showPieces(pair.prompt));
    if (long) {
      made.append(button(closed ? `Show all ${number(pair.chars[0])} characters` : 'Show less', () => {
        state.wide = !state.wide;
        show();
        document.querySelector('.pair .prompt button').focus();
      }, { 'aria-expanded': String(!closed) }));
    }
    return made;
  };

  const fact = (name, kind, ...value) => make('div', {}, make('dt', {}, name), make('dd', { class: kind, dir: 'auto' }, ...value));

  const showFacts = (pair) => make('dl', { class: 'facts' },
    fact('Gap', 'figure', score(pair.gap)),
    fact('Chosen is', 'figure', `${number(+pair.ratio.toPrecision(3))}× as long`),
    fact('Group', '', ...written(pair.group)),
    ...Object.entries(pair.who).filter(([of]) => of !== 'file').map(([of, names]) => (
      fact(large(of), '', ...written(names[0] === names[1] ? names[0] : names.join(' over '))))),
    fact('Id', '', make('a', { href: `#${pair.id}` }, pair.id.slice(0, 12))),
    ...(pair.why.includes('drawn') ? [] : [fact('Here for its', '', pair.why.map((why) => REASONS[why]).join(', '))]));

  const showMore = (pair) => {
    const lines = [...pair.meta];
    if (pair.tools.length) lines.unshift(['tools', pair.tools.join(', ')]);
    if (!lines.length) return [];
    const cells = lines.map(([key, value]) => make('tr', {}, make('td', {}, ...written(key)), make('td', { dir: 'auto' }, ...written(value))));
    return [make('details', { class: 'more', open: true }, make('summary', {}, 'Tools and meta'), make('table', {}, make('tbody', {}, ...cells)))];
  };

  const showPair = (pair) => {
    const only = state.compare ? different(pair) : [null, null];
    return make('article', { class: 'pair' }, showFacts(pair), showPrompt(pair),
      ...(only ? [] : [make('p', { class: 'note' }, 'These answers are too long, or too different, to be compared word for word.')]),
      make('div', { class: 'sides' }, showSide(pair, 'chosen', only?.[0]), showSide(pair, 'rejected', only?.[1])),
      ...showMore(pair));
  };

  // ---- filtering

  const textOf = (pair) => (pair.low ??= lower([...pair.prompt, ...pair.chosen, ...pair.rejected].map((piece) => `${piece.name ?? ''} ${piece.text}`).join('\n')));

  const between = (value, from, to) => (from === null && to === null) || (value !== null && value >= (from ?? -Infinity) && value <= (to ?? Infinity));

  const asked = () => {
    const value = (name) => fields[name].value;
    const bound = (name) => (value(name) === '' ? null : Number(value(name)));
    const named = Object.keys(fields).filter((name) => name.startsWith('who ') && value(name));
    state.text = lower(value('text').trim());
    return pairs.filter((pair) => between(pair.gap, bound('gap from'), bound('gap to'))
      && between(pair.ratio, bound('ratio from'), bound('ratio to'))
      && named.every((name) => pair.who[name.slice(4)]?.includes(value(name)))
      && (!fields.why || !value('why') || pair.why.includes(value('why')))
      && (!state.text || textOf(pair).includes(state.text)));
  };

  const ask = () => {
    const rank = ORDERS[fields.order.value];
    state.found = asked().sort((one, other) => rank(one) - rank(other) || one.place - other.place);
    state.at = 0;
    show();
  };

  const go = (step) => {
    const at = state.at + step;
    if (at < 0 || at >= state.found.length) return;
    state.at = at;
    state.wide = false;
    history.replaceState(null, '', `#${state.found[at].id}`);
    show();
    const { top } = parts.place.getBoundingClientRect();
    if (top < 0 || top > innerHeight) look();
  };

  const look = () => parts.place.scrollIntoView({ behavior: 'instant' });

  const show = () => {
    const { found: left, at } = state;
    parts.place.replaceChildren(left.length ? showPair(left[at]) : make('p', { class: 'pair note' }, 'No pair is like that.'));
    parts.count.textContent = left.length ? `${number(at + 1)} of ${number(left.length)}` : 'none';
    parts.before.disabled = at <= 0;
    parts.next.disabled = at >= left.length - 1;
    parts.differ.setAttribute('aria-pressed', String(state.compare));
  };

  /** The pair that the address names, whatever the filters are. */
  const visit = () => {
    const pair = pairs.find(({ id }) => `#${id}` === location.hash);
    if (!pair) return;
    if (!state.found.includes(pair)) {
      for (const [name, field] of Object.entries(fields)) if (name !== 'order') field.value = '';
      ask();
    }
    state.at = state.found.indexOf(pair);
    show();
    look();
  };

  // ---- controls

  const fields = {};
  const parts = {};

  const field = (name, made, event = 'input') => {
    let later;
    const soon = () => {
      clearTimeout(later);
      later = setTimeout(ask, name === 'text' ? 120 : 0);
    };
    made.addEventListener(event, soon);
    made.addEventListener('search', soon); // emptying a field with Esc fires no other event
    fields[name] = made;
    return made;
  };
  const choice = (label, name, options) => {
    const listed = options.map(([value, says]) => make('option', { value }, says));
    return make('label', {}, label, field(name, make('select', { 'aria-label': label }, ...listed), 'change'));
  };
  const range = (label, name) => make('fieldset', {}, make('legend', {}, label), make('span', {},
    ...['from', 'to'].map((end) => field(`${name} ${end}`, make('input', { type: 'number', step: 'any', placeholder: end, 'aria-label': `${label}, ${end}` })))));

  const choices = () => {
    const names = new Map();
    for (const pair of pairs) {
      for (const [of, both] of Object.entries(pair.who)) names.set(of, new Set([...(names.get(of) ?? []), ...both]));
    }
    const inOrder = new Intl.Collator('en', { numeric: true }).compare;
    return [...names].filter(([, met]) => met.size > 1).sort().map(([of, met]) => {
      const options = [...met].sort(inOrder).map((name) => [name, written(name).map((part) => part.textContent ?? part).join('')]);
      return choice(large(of), `who ${of}`, [['', 'any'], ...options]);
    });
  };

  const filters = () => {
    const why = [...new Set(pairs.flatMap((pair) => pair.why))];
    const reasons = why.map((reason) => [reason, REASONS[reason]]);
    return make('details', { class: 'filters' }, make('summary', {}, 'Filters and order'), make('div', {},
      choice('Order', 'order', Object.keys(ORDERS).map((name) => [name, name])),
      range('Gap', 'gap'), range('Length of chosen / rejected', 'ratio'), ...choices(),
      ...(why.length > 1 ? [choice('Why they are here', 'why', [['', 'any'], ...reasons])] : [])));
  };

  const toggle = () => {
    state.compare = !state.compare;
    show();
  };

  const build = () => {
    parts.count = make('span', { class: 'count', 'aria-live': 'polite' });
    parts.before = button('‹', () => go(-1), { 'aria-label': 'The pair before (k)', title: 'k' });
    parts.next = button('›', () => go(1), { 'aria-label': 'Next pair (j)', title: 'j' });
    parts.differ = button('Differences', toggle, { title: 'd' });
    parts.place = make('div', { class: 'place' });
    parts.printed = make('div', { class: 'printed' });
    const keys = Object.entries(KEYS).flatMap(([key, does]) => [make('dt', {}, make('kbd', {}, key)), make('dd', {}, does)]);
    parts.help = make('dialog', { 'aria-label': 'Keys' }, make('h2', {}, 'Keys'), make('dl', {}, ...keys), button('Close', () => parts.help.close()));
    const search = field('text', make('input', { type: 'search', placeholder: 'Search prompts and answers', 'aria-label': 'Search prompts and answers', title: '/' }));
    parts.tools = make('div', { class: 'tools', role: 'toolbar', 'aria-label': 'Pairs' },
      search, parts.before, parts.count, parts.next, parts.differ, button('?', () => parts.help.showModal(), { 'aria-label': 'Keys' }));
    document.getElementById('without').remove();
    document.getElementById('pairs').append(filters(), parts.tools, parts.place, parts.printed, parts.help);
  };

  const DOES = {
    j: () => go(1), ArrowRight: () => go(1), k: () => go(-1), ArrowLeft: () => go(-1), d: toggle,
    '/': () => fields.text.focus(), '?': () => parts.help.showModal(),
  };

  const listen = () => {
    document.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || parts.help.open) return;
      if (event.target.closest('input, select, .scroll')) {
        if (event.key === 'Escape') event.target.blur();
      } else if (Object.hasOwn(DOES, event.key)) {
        event.preventDefault();
        DOES[event.key]();
      }
    });
    addEventListener('hashchange', visit);
    addEventListener('beforeprint', () => parts.printed.replaceChildren(...state.found.slice(0, PRINTED).map(showPair)));
    addEventListener('afterprint', () => parts.printed.replaceChildren());
  };

  const theme = () => {
    const root = document.documentElement;
    const made = document.getElementById('theme');
    const dark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches);
    const label = () => { made.textContent = dark() ? 'Light' : 'Dark'; };
    made.hidden = false;
    made.addEventListener('click', () => {
      root.dataset.theme = dark() ? 'light' : 'dark';
      label();
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', label);
    label();
  };

  theme();
  if (pairs.length) {
    build();
    listen();
    show();
    visit();
  }
})();

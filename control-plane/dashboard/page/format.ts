// Numbers as people read them, in one notation whatever the browser speaks: the page is in English, and so are its numbers.

const language = 'en';
const whole = new Intl.NumberFormat(language, { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 });
const few = new Intl.NumberFormat(language, { maximumSignificantDigits: 2 });
const percent = new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 1 });
const dollar = { style: 'currency', currency: 'USD' } as const;
const money = new Intl.NumberFormat('en-US', dollar);
const smallMoney = new Intl.NumberFormat('en-US', { ...dollar, maximumFractionDigits: 4 });
const smallestMoney = new Intl.NumberFormat('en-US', { ...dollar, maximumSignificantDigits: 2 });

/** `12,345`. */
export function count(number: number): string {
  return whole.format(number);
}

/** `12.3K`. */
export function compact(number: number): string {
  return Math.abs(number) < 10_000 ? whole.format(number) : short.format(number);
}

/** `0.25`, `3.4`, `12`: of what need not be whole. */
export function rate(number: number): string {
  return Math.abs(number) < 10 ? few.format(number) : compact(number);
}

/** `12.3%` of a share from 0 to 1. */
export function share(number: number): string {
  return percent.format(number);
}

/** US dollars: `$12.35`, `$0.0123`, `$0.000042`; null: nobody knows the price. */
export function dollars(amount: number | null): string {
  if (amount === null) return 'no price';
  const size = Math.abs(amount);
  if (size === 0 || size >= 1) return money.format(amount);
  return size >= 0.01 ? smallMoney.format(amount) : smallestMoney.format(amount);
}

/** `1 d 4 h`, `3 min 5 s`, `12 s`: the two largest units. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ];
  const first = parts.findIndex(([number]) => number > 0);
  const shown = first === -1 ? parts.slice(-1) : parts.slice(first, first + 2);
  return shown
    .filter(([number], index) => index === 0 || number > 0)
    .map(([number, unit]) => `${number} ${unit}`)
    .join(' ');
}

/** `850 µs`, `12.3 ms`, `4.56 s` of nanoseconds. */
export function latency(ns: number): string {
  if (ns === 0) return '0';
  if (ns < 1e6) return `${whole.format(ns / 1e3)} µs`;
  if (ns < 1e9) return `${(ns / 1e6).toPrecision(3)} ms`;
  return ns < 60e9 ? `${(ns / 1e9).toPrecision(3)} s` : duration(ns / 1e6);
}

/** `1 rule`, `2 rules`. */
export function plural(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
}

// A streamed text that is judged window by window: what has come is held back until it was judged, and then told as a whole.
import { isRefusal, type Released, type StreamCheck, type Verdict } from './guardrail.ts';

const nothing: Released = { text: '' };

/** Judges at least `window` characters together, and what is left at the end. An emoji is never cut in two. */
export function windowed(window: number, judge: (text: string) => Promise<Verdict>): StreamCheck {
  let held = '';
  const check = async (text: string): Promise<Released> => {
    const verdict = await judge(text);
    if (verdict.outcome === 'pass') return { text };
    if (verdict.outcome === 'revise') return { text: verdict.texts?.[0] ?? text, verdict };
    return { text: isRefusal(verdict) ? '' : text, verdict };
  };
  return {
    push(text) {
      held += text;
      if (held.length < window) return nothing;
      const end = isHalf(held.charCodeAt(held.length - 1)) ? held.length - 1 : held.length;
      const whole = held.slice(0, end);
      held = held.slice(end);
      return check(whole);
    },
    end() {
      const rest = held;
      held = '';
      return rest === '' ? nothing : check(rest);
    },
  };
}

/** The first half of a character that takes two. */
function isHalf(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

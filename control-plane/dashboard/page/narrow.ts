// Whether the window is narrow, such as that of a telephone: tables are cards then.
import { Cell } from './cell.ts';

/** The same width is in `style.css`. */
const query = matchMedia('(width < 800px)');

export const narrow = new Cell(query.matches);
query.addEventListener('change', ({ matches }) => narrow.set(matches));

/** The mark of the product. */

export function Flame() {
  return (
    <svg class="flame" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="7" />
      <path d="M17 4c1 5-6 7-6 14a6 6 0 0 0 12 0c0-3-1.500-5-2.500-6.500C20 14 19 15 18 15c1.500-4 1-8-1-11z" />
    </svg>
  );
}

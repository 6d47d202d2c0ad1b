package auctioneer_test

import "martelo/db/dbtest/published"

// publishedDesign is the design of the article that this house surpasses. The promises' tests run
// on it too, to prove that they can fail.
type publishedDesign = published.Transaction

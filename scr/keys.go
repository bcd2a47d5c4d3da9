package scr

import (
	"fmt"
	"slices"

	"github.com/scrfs/scrfs/kvtree"
)

// Keys of SCR's hashes. They are written here once.
const (
	keyRank       = "RANK"
	keyRanks      = "RANKS"
	keyDset       = "DSET"
	keyFile       = "FILE"
	keyFiles      = "FILES"
	keyMeta       = "META"
	keySize       = "SIZE"
	keyCRC        = "CRC"
	keyComplete   = "COMPLETE"
	keyName       = "NAME"
	keyPath       = "PATH"
	keyType       = "TYPE"
	keyDir        = "DIR"
	keyCkpt       = "CKPT"
	keyOutput     = "OUTPUT"
	keyDsetDesc   = "DSETDESC"
	keyReddesc    = "REDDESC"
	keyFlush      = "FLUSH"
	keyPartner    = "PARTNER"
	keyVersion    = "VERSION"
	keyCurrent    = "CURRENT"
	keyOffset     = "OFFSET"
	keyLength     = "LENGTH"
	keySegment    = "SEG"
	keyContainer  = "CTR"
	keyRank2File  = "RANK2FILE"
	keyNoFetch    = "NOFETCH"
	keyLevel      = "LEVEL"
	keyDatasets   = "DATASET"
	keyLocation   = "LOCATION"
	keyExtraTree  = "TREE"
	keyExtraXattr = "XATTR"
	keyExtraLink  = "LINK"
)

// numberKeys returns the keys of a hash whose keys are numbers in low to high,
// ascending. Errors name the record and the key and wrap ErrInvalid.
func numberKeys(record string, t *kvtree.Tree, low, high int64) ([]int64, error) {
	numbers := make([]int64, 0, t.Len())
	for key := range t.All() {
		n, err := parseNumber(key, low, high)
		if err != nil {
			return nil, fmt.Errorf("%s: key %w", record, err)
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers, nil
}
